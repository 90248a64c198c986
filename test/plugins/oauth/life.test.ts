import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ask, who } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { newBrowser, setupLogin } from "./kit.ts";

const ADMIN = "the-master-key-of-the-tests";
const MANAGED = { auth: { apiKey: ADMIN }, management: { mutations: true } };

it("a restart loses no login, registration, key or half-done login; the store holds no secret", async () => {
  const path = makeFolder();
  const config = { store: `sqlite:${join(path, "gateway.db")}` };
  const options = { secretKeys: ["a key of the tests, long enough for it"] };
  const before = await setupLogin({ config, options });
  const program = new Program(before.url);
  const tokens = await program.tokens();
  const half = await program.browser.open(program.start());
  const code = (await program.login()).get("code")!;
  await before.gateway.close({ grace: 0 });

  const port = Number(new URL(before.url).port);
  const after = await setupLogin({
    config: { ...config, listeners: { main: { port } } },
    options,
    provider: before.provider,
  });
  expect(after.url).toBe(before.url);
  expect((await ask(after.endpoint, tokens.access_token)).status).toBe(200);
  const next = (await program.refresh(tokens.refresh_token!)).body;
  expect((await ask(after.endpoint, next.access_token)).status).toBe(200);
  expect((await program.redeem(code)).status).toBe(200);
  if (half instanceof URL) throw new Error("the page of consent does not come");
  const answer = await program.browser.submit(half, { choice: "allow" });
  expect((answer as URL).searchParams.get("code")).toMatch(/^ppc_/);

  const secrets = [tokens.access_token!, tokens.refresh_token!, next.refresh_token!, code, '"d":'];
  for (const file of await readdir(path)) {
    const text = await readFile(join(path, file), "latin1");
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  }
});

it("without a key to seal with nothing is kept in a store", async () => {
  const config = { store: `sqlite:${join(makeFolder(), "gateway.db")}` };
  await expect(setupLogin({ config })).rejects.toThrow(
    "There is no key to seal the secrets of oauth with.",
  );
});

it("without a store logins outlive a reload of other options, and the way out and back", async () => {
  const { gateway, url, endpoint } = await setupLogin();
  const program = new Program(url);
  const { access_token: access, refresh_token: token } = await program.tokens();
  const { written: config } = gateway;
  const own = config.plugins!["oauth"] as object;
  const longer = { ...config.plugins, oauth: { ...own, accessToken: "30m" } };
  expect(await gateway.apply({ ...config, plugins: longer })).toMatchObject({ applied: true });
  expect((await ask(endpoint, access)).status).toBe(200);
  const sealed = { ...own, secretKeys: ["a key of the tests, long enough for it"] };
  for (const oauth of [sealed, false, own] as const)
    expect(
      await gateway.apply({ ...config, plugins: { ...config.plugins, oauth } as never }),
    ).toMatchObject({ applied: true });
  expect((await program.refresh(token!)).status).toBe(200);
});

it("while the provider is away who has logged in goes on, and new logins fail with a sentence and without a hot loop", async () => {
  const { url, endpoint, provider } = await setupLogin();
  const program = new Program(url);
  const { refresh_token: token } = await program.tokens();
  await provider.stop();
  // Whatever asks for it comes here, and hears nothing.
  let asked = 0;
  const silence = createServer((socket) => {
    asked++;
    socket.destroy();
  }).listen(Number(new URL(provider.url).port), "127.0.0.1");
  await once(silence, "listening");
  onTestFinished(() => void silence.close());
  const next = await program.refresh(token!);
  expect((await ask(endpoint, next.body.access_token)).status).toBe(200);
  expect(asked).toBe(0);

  const away = await setupLogin({ provider });
  const other = new Program(away.url);
  await other.register();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => other.browser.open(other.start())),
  );
  const words = expect.stringContaining("the login provider does not answer");
  for (const answer of answers) expect(answer).toMatchObject({ status: 503, text: words });
  // One question at the start, and one at the first login where that was over by then.
  expect(asked).toBeGreaterThanOrEqual(1);
  expect(asked).toBeLessThanOrEqual(2);
});

it("keys rotate under load: no call fails, here and at a gateway that reads the published keys", async () => {
  const { url, endpoint } = await setupLogin({ config: MANAGED });
  const reader = await setupGateway({
    plugins: [who, [oauthResource, { issuers: { gate: { issuer: url } }, audiences: [endpoint] }]],
    config: { auth: { maxFailures: 0 } },
    client: false,
  });
  const program = new Program(url);
  let { refresh_token: token, access_token: access } = await program.tokens();
  const kids = new Set<string>();
  const statuses: number[] = [];
  const rotate = (): Promise<Response> =>
    fetch(`${url}/_meta/oauth/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      body: "{}",
    });
  for (let round = 0; round < 30; round++) {
    if (round % 10 === 0) statuses.push((await rotate()).status);
    const next = await program.refresh(token!);
    ({ refresh_token: token, access_token: access } = next.body);
    kids.add(decodeProtectedHeader(access!).kid!);
    const asked = [endpoint, `${reader.url}/mcp`].flatMap((at) => [
      ask(at, access),
      ask(at, access),
    ]);
    statuses.push(...(await Promise.all(asked)).map(({ status }) => status));
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { keys } = (await (await fetch(`${url}/oauth/jwks.json`)).json()) as {
    keys: { d?: string }[];
  };
  // New ones are published before they sign.
  expect([keys.length, kids.size]).toEqual([4, 1]);
  expect(keys.every(({ d }) => d === undefined)).toBe(true);
});

it("a key that was given away is gone at once, with all that it signed", async () => {
  const { url, endpoint } = await setupLogin({ config: MANAGED });
  const program = new Program(url);
  const { refresh_token: token, access_token: old } = await program.tokens();
  expect((await ask(endpoint, old)).status).toBe(200);
  await fetch(`${url}/_meta/oauth/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    body: '{"compromised":true}',
  });
  expect((await ask(endpoint, old)).status).toBe(401);
  const next = await program.refresh(token!);
  expect((await ask(endpoint, next.body.access_token)).status).toBe(200);
});

it("registrations are bounded by address and in all, and one that people use stays", async () => {
  const { url } = await setupLogin({
    options: { registration: { maxClients: 5, perAddress: 40 } },
  });
  const used = new Program(url);
  await used.tokens();
  const first = new Program(url);
  await first.register();
  const statuses: number[] = [];
  for (let count = 0; count < 45; count++)
    statuses.push((await new Program(url).register()).status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(38);
  expect(new Set(statuses.slice(38))).toEqual(new Set([429]));
  expect((await used.login()).get("code")).toMatch(/^ppc_/);
  const forgotten = await fetch(first.start(), { redirect: "manual" });
  expect(forgotten.status).toBe(401);
});

it("a registration with one URI that can be used is accepted, without the others", async () => {
  const { url } = await setupLogin();
  const program = new Program(url);
  const cursor = "cursor://anysphere.cursor-retrieval/oauth/callback";
  const { status, body } = await program.register({
    client_name: "Cursor",
    redirect_uris: ["javascript:alert(1)", cursor, "http://10.0.0.1/", 7],
    token_endpoint_auth_method: "client_secret_post",
    scope: "anything",
  });
  expect(status).toBe(201);
  expect(body["redirect_uris"]).toEqual([cursor]);
  const answer = await program.login({}, { redirect_uri: cursor });
  const code = answer.get("code")!;
  const fields = { redirect_uri: cursor };
  expect((await program.redeem(code, fields)).body.error).toBe("invalid_client");
  const secret = String(body["client_secret"]);
  expect((await program.redeem(code, { ...fields, client_secret: secret })).status).toBe(200);
  for (const wrong of [
    {},
    { redirect_uris: [] },
    { redirect_uris: "x" },
    { redirect_uris: ["data:,"] },
    [],
  ])
    expect((await new Program(url).register(wrong)).status).toBe(400);
});

it("a login of another browser, or answered by another page, does not go on", async () => {
  const { url } = await setupLogin();
  const program = new Program(url);
  await program.register();
  const page = await program.browser.open(program.start());
  if (page instanceof URL) throw new Error("nothing asks who it is");
  const login = await program.browser.submit(page, { login: "ada", password: "x" });
  let consent = login;
  while (!(consent instanceof URL) && !consent.url.startsWith(url))
    consent = await program.browser.submit(consent, {});
  if (consent instanceof URL) throw new Error("the page of consent does not come");
  expect(consent.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-/,
  );
  const stranger = newBrowser();
  const stolen = await stranger.submit(consent, { choice: "allow" });
  expect(stolen).toMatchObject({ status: 400 });
  const forged = await program.browser.submit(consent, { choice: "allow", answer: "x".repeat(22) });
  expect(forged).toMatchObject({ status: 400 });
  const denied = await program.browser.submit(consent, { choice: "deny" });
  expect((denied as URL).searchParams.get("error")).toBe("access_denied");
  const again = await program.browser.submit(consent, { choice: "allow" });
  expect(again).toMatchObject({ status: 400 });
});

it("a program with a hostile name is shown as text", async () => {
  const { url } = await setupLogin();
  const program = new Program(url);
  const name = `<script>alert(1)</script>"'&\u202eevil\u0000${"x".repeat(500)}`;
  await program.register({ client_name: name, redirect_uris: ["https://app.example/cb"] });
  let shown = "";
  await program.login(
    { onConsent: ({ text }) => void (shown = text) },
    { redirect_uri: "https://app.example/cb" },
  );
  expect(["<script", "\u202e", "\u0000"].filter((each) => shown.includes(each))).toEqual([]);
  expect(shown).toContain("&#60;script&#62;");
  expect(shown).toContain("The name was chosen by the program itself.");
});
