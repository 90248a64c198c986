import { htmlResponse, markup } from "propylon/internal";
import type { OauthClient } from "../clients/clients.ts";
import type { Login } from "../people/login.ts";
import { hostOfRedirect, isLoopbackRedirect, sourceOfRedirect } from "../redirects.ts";

/** Longest name that is shown, in characters. */
const MAX_NAME = 80;

/** What the page of consent shows. */
export interface ConsentPage {
  readonly client: OauthClient;
  readonly login: Login;
  /** Who logged in. */
  readonly person: string;
  /** Where the form goes. */
  readonly action: string;
  /** Scopes with the role that each gives. */
  readonly scopes: readonly (readonly [scope: string, role: string])[];
}

/** Asks a person whether a program may act for them. */
export function consentPage({ client, login, person, action, scopes }: ConsentPage): Response {
  const name = shownName(client);
  const fields = [
    ["Program", name],
    ["Known by", knownBy(client)],
    ["It may use", login.resource],
    ["As", person],
    ["With the rights", rightsOf(scopes)],
    ["You are sent to", destinationOf(login.redirect)],
  ] as const;
  const warning = warningOf(client, login.redirect);
  const hidden = { login: login.id, answer: login.answer };
  return htmlResponse(200, {
    title: `Allow ${name}?`,
    body: markup`<dl>${fields.map(([term, text]) => markup`<dt>${term}</dt><dd>${text}</dd>`)}</dl>
${warning === undefined ? undefined : markup`<p class="warning">${warning}</p>`}
<form method="post" action="${action}">
${Object.entries(hidden).map(([key, value]) => markup`<input type="hidden" name="${key}" value="${value}">`)}
<button name="choice" value="deny">Deny</button>
<button name="choice" value="allow">Allow</button>
</form>`,
    formAction: `'self' ${sourceOfRedirect(login.redirect)}`,
  });
}

/** Tells a person that a login cannot go on. */
export function messagePage(status: number, title: string, text: string): Response {
  return htmlResponse(status, { title, body: markup`<p>${text}</p>` });
}

/** Without characters that turn writing round, hide, or look like nothing. */
export function shownName({ name, id }: Pick<OauthClient, "name" | "id">): string {
  const plain = name
    .replaceAll(/[\p{C}\p{Z}\p{M}]+/gu, " ")
    .trim()
    .slice(0, MAX_NAME);
  return plain || (id.startsWith("https:") ? new URL(id).host : "A program without a name");
}

function knownBy({ kind, id }: OauthClient): string {
  if (kind === "configured") return "the operator of this gateway";
  return kind === "document" ? new URL(id).host : "nobody: it named itself";
}

function rightsOf(scopes: ConsentPage["scopes"]): string {
  if (scopes.length === 0) return "that you have";
  return scopes.map(([scope, role]) => `${scope} (${role})`).join(", ");
}

function destinationOf(redirect: string): string {
  const host = hostOfRedirect(redirect);
  return isLoopbackRedirect(redirect) ? `${host}, a program on this computer` : host;
}

function warningOf({ kind }: OauthClient, redirect: string): string | undefined {
  if (isLoopbackRedirect(redirect))
    return "Any program on this computer could ask like this. Allow it only if you have just begun a login yourself.";
  if (kind === "registered")
    return "The name was chosen by the program itself. Allow it only if you have just begun a login there yourself.";
  return undefined;
}
