// Asks the broker. A token, where one is wanted, is kept for as long as the tab is open.

const TOKEN = "pykbroker-token";

// The status of what was never answered.
export const AWAY = 0;

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
};

let wanted = null;

// Who asks for the token: a function that comes back when there is one; it is told whether one was refused.
export function askTokenBy(ask) {
  wanted = ask;
}

let asking = null;
let told = () => {};

// Who is told, after each request, whether the broker answers.
export function tellWhether(answers) {
  told = answers;
}

// It is stopped, or starts anew.
function away() {
  told(false);
  return new Refused(AWAY, "The broker does not answer.");
}

export async function send(method, path, { body, signal } = {}) {
  for (;;) {
    const headers = { Accept: "application/json" };
    if (method !== "GET") headers["Content-Type"] = "application/json";
    const sent = token.get();
    if (sent) headers.Authorization = `Bearer ${sent}`;
    let response;
    try {
      response = await fetch(path, { method, headers, signal, body: method === "GET" ? undefined : JSON.stringify(body ?? {}) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw away();
    }
    told(true);
    if (response.status !== 401 || wanted === null) {
      if (response.ok) return response;
      throw new Refused(response.status, await why(response));
    }
    if (sent !== token.get()) continue; // it was given meanwhile
    asking ??= wanted(Boolean(sent)).finally(() => { asking = null; });
    await asking;
  }
}

async function why(response) {
  try {
    return (await response.json()).title ?? response.statusText;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

function query(params) {
  const given = Object.entries(params ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

export async function look(path, params, signal) {
  return (await send("GET", `/console/api${path}${query(params)}`, { signal })).json();
}

export async function change(path, body) {
  return (await send("POST", `/console/api${path}`, { body })).json();
}

// The interface for tests: faults, clock, brokers.
export async function api(method, path, body, signal) {
  return (await send(method, `/api/v1${path}`, { body, signal })).json();
}

// Lines of JSON, as they come. No more is read than is taken, so a slow page is a slow reader and nothing else.
export async function* lines(path, params, signal) {
  const response = await send("GET", `/console/api${path}${query(params)}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw error.name === "AbortError" ? error : away();
      });
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const each of parts) if (each) yield JSON.parse(each);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
