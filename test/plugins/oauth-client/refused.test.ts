import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Call, GatewayError } from "../../../core/index.ts";
import { createPrincipal, Fernet } from "../../../core/kit.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { Asking, ticketSchema } from "../../../plugins/oauth-client/login/asking.ts";
import { Vault } from "../../../plugins/oauth-client/provider/vault.ts";
import { startClock } from "../../fixtures/clock.ts";
import { OddLogin } from "../../fixtures/odd-login.ts";
import { setupRig } from "./kit.ts";
import { setupOdd } from "./odd-rig.ts";

const CALL = { server: "odd", name: "whoami", args: {} };
const count = (visits: readonly string[], place: string): number =>
  visits.filter((visit) => visit === place).length;

/** A gateway that is logged in at a server which refuses a token before its end; time may pass. */
async function setupRefused() {
  const passTime = startClock();
  const odd = await OddLogin.start((made) => ({
    "POST /token": () => made.tokens({ refresh_token: "refresh-of-ada" }),
  }));
  const { gateway, logIn, whoami } = await setupOdd(odd);
  await logIn();
  expect(await whoami()).toBe("ada");
  return { odd, gateway, whoami, passTime };
}

it("a token that its server refuses before its end is refreshed, and the call goes on", async () => {
  const { odd, whoami, passTime } = await setupRefused();
  odd.token = "next-token-of-ada";
  passTime(5_001);
  expect(await whoami()).toBe("ada");
  const [code, refresh] = odd.forms.map((form) => form.get("grant_type"));
  expect([code, refresh, odd.forms.length]).toEqual(["authorization_code", "refresh_token", 2]);
});

it("one that is refused as soon as it has come is not: it would be without end", async () => {
  const { odd, gateway } = await setupRefused();
  odd.token = "next-token-of-ada";
  await expect(gateway.call(CALL)).rejects.toMatchObject({ data: { login: true } });
  expect(odd.forms).toHaveLength(1);
});

it("a refresh that gives the refused token again is not tried with it", async () => {
  const { odd, gateway, passTime } = await setupRefused();
  passTime(5_001);
  // Its connection is kept: what refuses the first request of one is that request's for certain.
  await gateway.call(CALL);
  const before = count(odd.visits, "POST /mcp");
  odd.script = {
    "POST /mcp": () => odd.unauthorized(),
    "POST /token": odd.tokens({ refresh_token: "refresh-of-ada" }),
  };
  await expect(gateway.call(CALL)).rejects.toMatchObject({ data: { login: true } });
  expect(odd.forms).toHaveLength(2);
  // The call, and the ping that finds out whether its refusal was its own.
  expect(count(odd.visits, "POST /mcp") - before).toBe(2);
});

it.each([
  ["invalid_client", 2],
  ["invalid_grant", 1],
])(
  "a client that is refused with %s has registered %i times at the next login",
  async (error, times) => {
    const odd = await OddLogin.start(() => ({ "POST /token": { status: 400, body: { error } } }));
    const { logIn } = await setupOdd(odd);
    expect((await logIn()).told).toContain(error);
    await logIn();
    expect(count(odd.visits, "POST /register")).toBe(times);
  },
);

it("where to log in is asked for once by logins of ten minutes", async () => {
  const odd = await OddLogin.start();
  const { url, logIn } = await setupOdd(odd);
  const place = "GET /.well-known/oauth-protected-resource/mcp";
  const begin = () => fetch(`${url}/_meta/oauth-client/servers/odd/login`, { method: "POST" });
  await begin();
  const before = count(odd.visits, place);
  await begin();
  await logIn();
  expect(count(odd.visits, place)).toBe(before);
});

it.each(["http://login.example/authorize", "javascript:alert(1)", undefined])(
  "nobody is sent to %s to log in",
  async (authorization_endpoint) => {
    const odd = await OddLogin.start((made) => ({
      "GET /.well-known/oauth-authorization-server": made.metadata({ authorization_endpoint }),
    }));
    const { told, location } = await (await setupOdd(odd)).logIn();
    expect(told).toContain("The login cannot be used");
    expect(location).toBeUndefined();
  },
);

it("the audit has who began and ended a login, at which server, and nothing of its secrets", async () => {
  const odd = await OddLogin.start();
  const { logIn, lines } = await setupOdd(odd);
  await logIn();
  const mutations = lines
    .map((line) => JSON.parse(line) as { msg: string; action?: string; target?: object })
    .filter(({ msg }) => msg === "mutation");
  expect(mutations.map(({ action }) => action)).toEqual([
    "POST /_meta/oauth-client/servers/:server/login",
    "POST /oauth-client/connect/:ticket",
    "GET /oauth-client/callback/:login",
  ]);
  expect(mutations.at(-1)!.target).toMatchObject({ server: "odd", account: "gateway" });
});

it("the document of the gateway as a client is for those who have its address, and for its logins", async () => {
  const login = "l".repeat(32);
  const { url } = await setupRig({ config: { publicUrl: "https://tools.example.org/gw" } });
  const document = await fetch(`${url}/oauth-client/clients/${login}`);
  expect([document.status, await document.json()]).toEqual([
    200,
    expect.objectContaining({
      client_id: `https://tools.example.org/gw/oauth-client/clients/${login}`,
      redirect_uris: [`https://tools.example.org/gw/oauth-client/callback/${login}`],
    }),
  ]);
  for (const other of ["x", `${login}l`, "l".repeat(31), "l.".repeat(16)])
    expect((await fetch(`${url}/oauth-client/clients/${other}`)).status).toBe(404);
  const { url: inside } = await setupRig();
  expect((await fetch(`${inside}/oauth-client/clients/${login}`)).status).toBe(404);
});

/** A call whose client shows its person a page. */
function setupAsking() {
  const store = new GatewayStore(new MemoryDriver(), pino({ level: "silent" })).scope("tests");
  const seal = new Fernet(["a key of the tests, long enough for it"]);
  const tickets = new Vault(store, "tickets", { seal, schema: ticketSchema });
  const asking = new Asking({ tickets, urlOf: (ticket) => `https://gateway.example/${ticket}` });
  const told: string[] = [];
  const shown: string[] = [];
  const call = {
    method: "tools/call",
    principal: createPrincipal({ kind: "user", id: "ada", roles: new Set(["caller"]) }),
    signal: new AbortController().signal,
    peer: {
      capabilities: { elicitation: { url: {} } },
      ask: async (_method: string, { elicitationId }: { elicitationId: string }) => {
        shown.push(elicitationId);
        return { action: "accept" };
      },
      tell: (method: string) => void told.push(method),
    },
  } as unknown as Call;
  const ask = () => asking.ask(call, "guarded", new GatewayError("forbidden", "Connect first."));
  return { asking, ask, told, shown };
}

it("a call goes on when its person has logged in, and ends with the reason where that failed", async () => {
  const { asking, ask, told, shown } = setupAsking();
  const [one, two] = [ask(), ask()];
  await expect.poll(() => shown.length).toBe(2);
  // Of one principal at one server: the same login.
  expect(shown[0]).toBe(shown[1]);
  asking.ended(shown[0]!, { isDone: true });
  expect(await Promise.all([one, two])).toEqual([undefined, undefined]);
  expect(told).toEqual(Array.from({ length: 2 }, () => "notifications/elicitation/complete"));
  const failed = ask().catch((error: Error) => error.message);
  await expect.poll(() => shown.length).toBe(3);
  expect(shown[2]).not.toBe(shown[0]);
  asking.ended(shown[2]!, { isDone: false, reason: "The person said no." });
  expect(await failed).toBe("The person said no.");
});

it("a call waits ten minutes for its person, and then says that nobody logged in", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { ask, told } = setupAsking();
  const ended = vi.fn<(message: string) => void>();
  const asked = ask().catch((error: Error) => ended(error.message));
  await vi.advanceTimersByTimeAsync(599_000);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  await asked;
  expect(ended.mock.calls).toEqual([["Nobody logged in within ten minutes."]]);
  expect(told).toEqual([]);
});
