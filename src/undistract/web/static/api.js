// Asking the server. A refusal carries the server's own sentence; status 0 means that nobody answered.

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options) {
  let response, body;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?", 0);
  }
  if (!response.ok) throw new Refused(body?.error ?? `The server answered ${response.status}.`, response.status);
  return body;
}

export const read = (path, signal) => ask(path, { signal });

export const send = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

export const itemPath = (id, rest = "") => `/api/items/${encodeURIComponent(id)}${rest}`;
