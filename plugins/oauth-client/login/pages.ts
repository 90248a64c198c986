import { randomBytes } from "node:crypto";
import { escapeHtml } from "propylon/kit";
import type { LinkView } from "./login-flow.ts";

/** What a page shows. */
interface Page {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  readonly script?: string;
  readonly status?: number;
}

/** The page that begins a login. */
export function connectPage({ server, ref, asks }: LinkView): Response {
  const whose = ref === undefined ? "everybody" : `<b>${escapeHtml(ref)}</b>`;
  const key = asks
    ? `<p>Show that you are ${whose}: enter the key that you use for this gateway. It stays here.</p>
<p><input id="key" type="password" autocomplete="off" aria-label="Key for this gateway" required></p>`
    : "";
  return render({
    title: "Connect an account",
    body: `<p>The account that you log in with at <b>${escapeHtml(server)}</b> will be used for everything that ${whose} does there through this gateway.</p>
<p>Go on only if you began this yourself.</p>
<form id="form">${key}<p><button>Continue</button></p><p id="told" role="alert"></p></form>`,
    script: SCRIPT,
  });
}

/** The page at the end of a login. */
export function endPage(title: string, text: string, status = 200): Response {
  return render({ title, body: `<p>${escapeHtml(text)}</p>`, status });
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

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}" +
  "button,input{font:inherit;padding:.4rem .8rem}input{width:100%;box-sizing:border-box}" +
  "@media(prefers-color-scheme:dark){body{color:#eee;background:#1c1c1c}}";

function render({ title, body, script, status = 200 }: Page): Response {
  const nonce = randomBytes(16).toString("base64");
  const code = script === undefined ? "" : `<script nonce="${nonce}">${script}</script>`;
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style nonce="${nonce}">${STYLE}</style></head><body><main><h1>${escapeHtml(title)}</h1>${body}</main>${code}</body></html>`;
  return new Response(html, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      // The address of the page is a secret.
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "content-security-policy": `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
    },
  });
}
