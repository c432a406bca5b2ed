"""The browser side: review and study pages."""
