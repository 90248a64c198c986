import { describe, expect, it } from "vitest";
import { Program } from "./attempt.ts";
import { documentOf, sendJson, serveDocuments } from "./client-documents.ts";
import { newBrowser, REDIRECT, setupLogin, visit } from "./kit.ts";

const WEB = "https://app.example/callback";

/** Requests that cannot begin a login, by what is wrong with them. */
const FAULTS: readonly (readonly [string, Record<string, string | undefined>])[] = [
  ["another response_type", { response_type: "token" }],
  ["another response_mode", { response_mode: "fragment" }],
  ["no PKCE", { code_challenge: undefined }],
  ["the wrong PKCE method", { code_challenge_method: "plain" }],
  ["a resource of somebody else", { resource: "https://evil.example/mcp" }],
  ["a state with a line break", { state: "a\nb" }],
  ["a state that no cookie holds", { state: "x".repeat(2_000), scope: "y".repeat(2_000) }],
];

/** What a browser is told that opens a URL and has no cookie. */
async function openPlain(url: URL): Promise<{ status: number; location: string | null }> {
  const response = await fetch(url, { redirect: "manual" });
  const text = await response.text();
  if (response.status < 300) throw new Error(text);
  return { status: response.status, location: response.headers.get("location") };
}

async function setupProgram(redirects: readonly string[] = [WEB], options = {}): Promise<Program> {
  const program = new Program((await setupLogin({ options })).url);
  await program.register({ redirect_uris: redirects });
  return program;
}

describe("attacks S2-4: before a person allowed a program nobody is sent to its address", () => {
  it.each(FAULTS)("that registered itself, with %s", async (_, fields) => {
    const program = await setupProgram();
    const start = program.start({ redirect_uri: WEB, ...fields });
    expect(await openPlain(start)).toEqual({ status: 400, location: null });
  });

  it("that has a document", async () => {
    const { url: document } = await serveDocuments((_req, res, own) =>
      sendJson(res, { ...documentOf(own), redirect_uris: [WEB] }),
    );
    const { url } = await setupLogin({ options: { allowedAddresses: ["127.0.0.1"] } });
    const program = new Program(url);
    program.id = document;
    const start = program.start({ redirect_uri: WEB, response_type: "token" });
    expect(await openPlain(start)).toEqual({ status: 400, location: null });
  });

  it("while the provider is away", async () => {
    const options = { provider: { issuer: "http://127.0.0.1:1", clientId: "gateway" } };
    const program = await setupProgram([WEB], options);
    const start = program.start({ redirect_uri: WEB });
    expect(await openPlain(start)).toEqual({ status: 503, location: null });
  });

  it("when the provider says no, and the login is over then", async () => {
    const { url, provider } = await setupLogin();
    const program = new Program(url);
    await program.register({ redirect_uris: [WEB] });
    const { browser } = program;
    await browser.open(program.start({ redirect_uri: WEB }));
    const nameOf = (): string | undefined =>
      [...browser.cookies(new URL(program.url).host).keys()].find((name) =>
        name.startsWith("propylon_login_"),
      );
    const state = nameOf()!.replace("propylon_login_", "");
    const back = new URLSearchParams({ error: "access_denied", state, iss: provider.url });
    expect(await browser.open(`${url}/oauth/callback?${back.toString()}`)).toMatchObject({
      status: 403,
    });
    expect(nameOf()).toBeUndefined();
  });

  it("when the person has no role", async () => {
    const options = { roles: { caller: { groups: ["staff"] } } };
    const program = await setupProgram([WEB], options);
    const end = await visit(program.browser, program.start({ redirect_uri: WEB }));
    expect(end).toMatchObject({ status: 403 });
  });
});

describe("after a person decided", () => {
  it("the answer goes to the address, yes or no", async () => {
    const program = await setupProgram();
    const fields = { redirect_uri: WEB };
    expect((await program.login({ choice: "deny" }, fields)).get("error")).toBe("access_denied");
    expect((await program.login({}, fields)).get("code")).toMatch(/^ppc_/);
  });

  it("a program of a scheme that has no owner hears yes, and nothing else", async () => {
    const own = "cursor://anysphere.cursor-mcp/oauth/callback";
    const domain = "com.example.app:/oauth/callback";
    const program = await setupProgram([own, domain]);
    const denied = { choice: "deny" } as const;
    expect(
      await visit(program.browser, program.start({ redirect_uri: own }), denied),
    ).toMatchObject({ status: 400, text: expect.stringContaining("did not allow it") });
    const told = await program.login(denied, { redirect_uri: domain });
    expect(told.get("error")).toBe("access_denied");
    expect((await program.login({}, { redirect_uri: own })).get("code")).toMatch(/^ppc_/);
  });
});

it("a program of the operator is told at its address what is wrong", async () => {
  const options = { clients: { own: { name: "Own", redirects: [WEB, REDIRECT] } } };
  const { url } = await setupLogin({ options });
  const program = new Program(url);
  program.id = "own";
  for (const [, fields] of FAULTS.filter(([, { state }]) => state === undefined)) {
    const end = await newBrowser().open(program.start({ redirect_uri: WEB, ...fields }));
    if (!(end instanceof URL)) throw new Error(end.text);
    expect(`${end.origin}${end.pathname}`).toBe(WEB);
    expect(end.searchParams.get("state")).toBe("the state");
    expect(end.searchParams.get("iss")).toBe(url);
  }
});

it.each([
  "ms-msdt:/id",
  "ms-word:/ofe",
  "ms-settings:/x",
  "search-ms:/query",
  "search:/x",
  "shell:/x",
  "x-apple.systempreferences:/x",
  "itms-services:/x",
  "itms://x/y",
  "facetime:/x",
  "market://details",
  "ssh://evil.example/",
  "telnet://evil.example/",
  "smb://evil.example/share",
  "ldap://evil.example/",
  "sms:/1",
])("the scheme of %s belongs to the operating system, and no program gets it", async (uri) => {
  const { url } = await setupLogin();
  const { status, body } = await new Program(url).register({ redirect_uris: [uri] });
  expect([status, body["error"]]).toEqual([400, "invalid_redirect_uri"]);
});
