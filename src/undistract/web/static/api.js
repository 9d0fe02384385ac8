// Requests to the server. An error has the message of the server; status 0 means that there was no response.

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function request(path, options) {
  let response, body;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not respond. Is it still running?", 0);
  }
  if (!response.ok) throw new Refused(body?.error ?? `The server responded with status ${response.status}.`, response.status);
  return body;
}

export const read = (path, signal) => request(path, { signal });

export const send = (path, body, signal) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

export const itemPath = (id, suffix = "") => `/api/items/${encodeURIComponent(id)}${suffix}`;
