import { htmlResponse, markup } from "propylon/internal";
import type { LinkView } from "./login-flow.ts";

/** The page that begins a login. */
export function connectPage({ server, ref, asks }: LinkView): Response {
  const whose = ref === undefined ? "everybody" : markup`<b>${ref}</b>`;
  const key = asks
    ? markup`<label>Show that you are ${whose}: enter the key that you use for this gateway. It stays here.
<input id="key" type="password" autocomplete="off" aria-label="Key for this gateway" required></label>`
    : undefined;
  return htmlResponse(200, {
    title: "Connect an account",
    body: markup`<p>The account that you log in with at <b>${server}</b> will be used for everything that ${whose} does there through this gateway.</p>
<p>Go on only if you began this yourself.</p>
<form id="form">${key}<button>Continue</button></form>
<p id="told" role="alert"></p>`,
    script: SCRIPT,
  });
}

/** The page at the end of a login. */
export function endPage(title: string, text: string, status = 200): Response {
  return htmlResponse(status, { title, body: markup`<p>${text}</p>` });
}

const SCRIPT = `
const form = document.getElementById("form");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const told = document.getElementById("told");
  const key = document.getElementById("key")?.value;
  const headers = key ? { authorization: "Bearer " + key } : {};
  try {
    const response = await fetch(location.pathname, { method: "POST", headers });
    const answer = await response.json();
    if (response.ok) location.assign(answer.location);
    else told.textContent = answer.error.message + " " + (answer.error.hint ?? "");
  } catch {
    told.textContent = "The gateway cannot be reached.";
  }
});`;
