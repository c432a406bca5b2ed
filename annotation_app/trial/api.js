// The routes of the server, and the errors that say whether trying again is of use.

const TIMEOUT_MS = 15000;
const HEADER = "X-Cuebench-Session";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
    this.permanent = [400, 401, 404, 413].includes(status);
  }
}

export class Api {
  constructor(root, sessionId, practice, fetcher = (...args) => fetch(...args)) {
    Object.assign(this, { root, sessionId, practice, fetcher });
  }

  media(name) {
    return `${this.root}/media/${name}`;
  }

  source(name) {
    return `${this.root}/source/${name}`;
  }

  async tasks(nTasks) {
    return this.#json(`${this.root}/tasks?n_tasks=${nTasks}&practice=${this.practice ? 1 : 0}`);
  }

  async send(events, inFlight, nTasks) {
    const body = JSON.stringify({ events, in_flight: inFlight, n_tasks: nTasks, practice: this.practice });
    return this.#json(`${this.root}/events`, { method: "POST", body, keepalive: body.length < 60000 });
  }

  async picture(url, signal) {
    const response = await this.#request(url, { signal });
    return response.blob();
  }

  async #json(url, options = {}) {
    const response = await this.#request(url, { signal: AbortSignal.timeout(TIMEOUT_MS), ...options });
    return response.json();
  }

  async #request(url, options) {
    const headers = { [HEADER]: this.sessionId, ...(options.body ? { "Content-Type": "application/json" } : {}) };
    const response = await this.fetcher(url, { ...options, headers, credentials: "same-origin" });
    if (!response.ok) throw new ApiError(response.status, await errorText(response));
    return response;
  }
}

async function errorText(response) {
  try {
    return (await response.json()).error ?? response.statusText;
  } catch {
    return response.statusText;
  }
}
