"""What alembic runs: the revisions, in the transaction of the connection that it was handed."""

from alembic import context

from curation.tables import Table

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Table.metadata, transactional_ddl=True)
context.run_migrations()
