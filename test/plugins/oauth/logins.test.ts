import { createHash } from "node:crypto";
import { decodeJwt } from "jose";
import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { Fernet } from "../../../core/kit.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import type { Kv } from "../../../core/store.ts";
import type { OauthClient } from "../../../plugins/oauth/clients/clients.ts";
import {
  type Consent,
  type ConsentQuestion,
  Consents,
} from "../../../plugins/oauth/tokens/consents.ts";
import { OpaqueTexts } from "../../../plugins/oauth/opaque.ts";
import { Grants } from "../../../plugins/oauth/tokens/grants.ts";
import { KeyRing } from "../../../plugins/oauth/tokens/key-ring.ts";
import { startClock } from "../../fixtures/clock.ts";
import { ask } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { setupLogin } from "./kit.ts";

const ADMIN = "the-master-key-of-the-tests";

/** A gateway with logins of Ada and Bob, and its administrator. */
async function setupLogins() {
  const config = { auth: { apiKey: ADMIN }, management: { mutations: true } };
  const { url, endpoint } = await setupLogin({ config });
  const logIn = async (name: string) => {
    const program = new Program(url);
    return { program, ...(await program.tokens({ name })) };
  };
  const [ada, again, bob] = [await logIn("ada"), await logIn("ada"), await logIn("bob")];
  const asAdmin = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    const response = await fetch(`${url}/_meta/oauth/${path}`, { method, headers });
    return { status: response.status, body: (await response.json()) as LoginsAnswer };
  };
  return { endpoint, ada, again, bob, asAdmin };
}

interface LoginsAnswer {
  readonly logins: readonly { readonly id: string; readonly subject: string }[];
  readonly total: number;
  readonly ended?: number;
}

const createStore = () =>
  new GatewayStore(new MemoryDriver(), pino({ level: "silent" })).scope("tests");

/** Time that stands still. @returns sets it */
function stopClock(): (ms: number) => void {
  const clock = vi.spyOn(Date, "now");
  onTestFinished(() => clock.mockRestore());
  return (ms) => void clock.mockReturnValue(ms);
}

it("an administrator sees all logins, or those of one person", async () => {
  const { ada, asAdmin } = await setupLogins();
  const { body: all } = await asAdmin("GET", "logins");
  expect(all.total).toBe(3);
  expect(all.logins.map(({ subject }) => subject).toSorted()).toEqual(["ada", "ada", "bob"]);
  const { body: one } = await asAdmin("GET", "logins?subject=ada");
  expect(one.logins.map(({ subject }) => subject)).toEqual(["ada", "ada"]);
  expect(one.logins[0]).toMatchObject({
    client: expect.any(String),
    name: "ada of the tests",
    resource: ada.program.endpoint,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    until: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect((await asAdmin("GET", "logins?subject=nobody")).body.logins).toEqual([]);
  expect(JSON.stringify(all)).not.toContain(ada.refresh_token!.slice(-20));
});

it("an administrator ends one login, with its tokens, and no other", async () => {
  const { endpoint, ada, again, asAdmin } = await setupLogins();
  const { body } = await asAdmin("GET", "logins?subject=ada");
  const [first, second] = body.logins;
  expect(await asAdmin("DELETE", `logins/${first!.id}`)).toEqual({
    status: 200,
    body: { ended: 1 },
  });
  const statuses = await Promise.all(
    [ada, again].map(async ({ access_token: token }) => (await ask(endpoint, token)).status),
  );
  expect(new Set(statuses)).toEqual(new Set([200, 401]));
  expect((await asAdmin("GET", "logins?subject=ada")).body).toMatchObject({
    logins: [{ id: second!.id }],
    total: 2,
  });
  for (const id of [first!.id, "nothing", "x".repeat(65), "a.b"])
    expect((await asAdmin("DELETE", `logins/${id}`)).status).toBe(404);
});

it("an administrator ends everything of a person, and of nobody else", async () => {
  const { endpoint, ada, bob, asAdmin } = await setupLogins();
  expect((await asAdmin("DELETE", "people/ada")).body).toEqual({ ended: 2 });
  expect((await ask(endpoint, ada.access_token)).status).toBe(401);
  expect((await ada.program.refresh(ada.refresh_token!)).body.error).toBe("invalid_grant");
  expect((await ask(endpoint, bob.access_token)).status).toBe(200);
});

it("a person's consents are 100: the one that was used longest ago makes room", async () => {
  const kv: Kv<Consent> = createStore().kv("consents");
  const consents = new Consents(kv);
  const passTime = startClock();
  const question = (name: string, subject = "ada"): ConsentQuestion => ({
    person: { subject, name: subject, claims: {} },
    client: { id: name, kind: "document" } as OauthClient,
    redirect: "https://app.example/callback",
    resource: "https://gateway.example/mcp",
    scopes: [],
  });
  const isGiven = (name: string) => consents.isGiven(question(name));
  const give = async (name: string, scopes: readonly string[] = ["a"]) => {
    await consents.give({ ...question(name), scopes });
    passTime(1_000);
  };
  for (let count = 0; count < 100; count++) await give(`client-${count}`);
  await consents.give({ ...question("client-0", "bob"), scopes: ["a"] });
  // It is used again, so it is not the oldest any more.
  await give("client-0");
  expect(await Promise.all([isGiven("client-0"), isGiven("client-1")])).toEqual([true, true]);
  await give("client-100");
  expect(
    await Promise.all(["client-0", "client-1", "client-2", "client-100"].map(isGiven)),
  ).toEqual([true, false, true, true]);
  expect(await consents.isGiven(question("client-0", "bob"))).toBe(true);
  const own = createHash("sha256").update("ada").digest("base64url");
  let kept = 0;
  for await (const _ of kv.list(`${own}/`)) kept++;
  expect(kept).toBe(100);
});

it("a login goes on until the very millisecond in which its person has to log in again", async () => {
  const store = createStore();
  const setClock = stopClock();
  setClock(1_000_000);
  const grants = new Grants({
    kv: store.kv("logins"),
    revoked: store.kv("revoked"),
    tokens: new OpaqueTexts("ppr_", () => Buffer.alloc(32, 1)),
    login: 60_000,
    reuseGrace: 0,
    onRevoked: () => {},
  });
  const person = { subject: "ada", name: "Ada", claims: {} };
  const begun = { client: "desk", clientName: "Desk", person, scopes: [], resource: "r" };
  const { refreshToken } = await grants.begin(grants.nextId(person), begun);
  setClock(1_059_999);
  const { refreshToken: next } = await grants.refresh(refreshToken, () => {});
  setClock(1_060_000);
  await expect(grants.refresh(next, () => {})).rejects.toMatchObject({ code: "invalid_grant" });
});

it("a key is published until an hour and five minutes after the next one signs", async () => {
  const setClock = stopClock();
  setClock(0);
  const seal = new Fernet(["a key of the tests, long enough for it"]);
  const ring = new KeyRing(createStore().kv("ring"), seal, { algorithm: "EdDSA", rotation: 1e12 });
  expect(() => ring.keys).toThrow(expect.objectContaining({ code: "unavailable" }));
  onTestFinished(await ring.open());
  const [first] = ring.keys;
  const second = await ring.rotate();
  setClock(599_999);
  expect(ring.signer.kid).toBe(first!.kid);
  setClock(600_000);
  expect(ring.signer.kid).toBe(second);
  setClock(600_000 + 3_899_999);
  const third = await ring.rotate();
  expect(ring.keys.map(({ kid }) => kid)).toEqual([first!.kid, second, third]);
  setClock(600_000 + 3_900_000);
  const fourth = await ring.rotate();
  expect(ring.keys.map(({ kid }) => kid)).toEqual([second, third, fourth]);
  expect([ring.has(first!.kid), ring.has(second)]).toEqual([false, true]);
});

it("a browser is in the middle of three logins: the oldest makes room", async () => {
  const { url } = await setupLogin();
  const program = new Program(url);
  await program.register();
  const cookie = ["a", "b", "c"].map((id) => `propylon_login_${id}=x`).join("; ");
  const response = await fetch(program.start(), { redirect: "manual", headers: { cookie } });
  const given = response.headers.getSetCookie();
  expect(given).toHaveLength(2);
  expect(given).toContain("propylon_login_a=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
  const own = /^propylon_login_[\w-]{22}=[\w=-]+; Path=\/; Max-Age=600; HttpOnly/;
  expect(given.filter((each) => own.test(each))).toHaveLength(1);
});

it("an access token names its resource as a text", async () => {
  const { url, endpoint } = await setupLogin();
  const { access_token: token = "" } = await new Program(url).tokens();
  expect(decodeJwt(token).aud).toBe(endpoint);
});

it("of the scopes that a program asks for, 50 count", async () => {
  const { url } = await setupLogin({
    options: { roles: { operator: "everyone" } },
    resource: { scopes: { "mcp:call": "caller", "mcp:operate": "operator" } },
  });
  const program = new Program(url);
  const scopeBehind = async (count: number) => {
    const others = Array.from({ length: count }, (_, at) => `other-${at}`);
    return (await program.tokens({}, { scope: [...others, "mcp:operate"].join(" ") }))["scope"];
  };
  expect(await scopeBehind(49)).toBe("mcp:operate");
  // As where nothing was asked for that the gateway knows.
  expect(await scopeBehind(50)).toBe("mcp:call");
});

it.each([
  [{}, undefined],
  [{ "mcp:call": "caller", look: "viewer" }, ["mcp:call", "look"]],
])("the metadata name the scopes of the gateway, where it has any: %j", async (scopes, named) => {
  const { url } = await setupLogin({ resource: { scopes } });
  const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`);
  const { scopes_supported: told } = (await metadata.json()) as { scopes_supported?: string[] };
  expect(told?.toSorted()).toEqual(named?.toSorted());
});
