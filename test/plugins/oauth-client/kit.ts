import { createPrincipal, digestOf } from "propylon/kit";
import { expect, onTestFinished } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import type { Gateway, GatewayConfigInput } from "../../../core/index.ts";
import { connectClient, setupGateway, type GatewaySetup } from "../../../core/testing/index.ts";
import oauthClient from "../../../plugins/oauth-client/index.ts";
import { GuardedServer, type GuardedOptions } from "../../fixtures/guarded-server.ts";
import { LoginBrowser, LoginProvider } from "../../fixtures/login-provider.ts";

export interface RigOptions {
  readonly auth?: Record<string, unknown>;
  readonly options?: Record<string, unknown>;
  readonly config?: GatewayConfigInput;
  readonly provider?: LoginProvider;
  readonly era?: GuardedOptions["era"];
  readonly client?: GatewaySetup["client"];
  readonly plugins?: GatewaySetup["plugins"];
  readonly server?: GuardedServer;
  readonly log?: GatewaySetup["log"];
}

/** A gateway before a server that takes the tokens of a real provider. */
export async function setupRig({
  auth = {},
  options = {},
  config = {},
  era,
  client = false,
  plugins = [],
  log,
  ...rest
}: RigOptions = {}) {
  const provider = rest.provider ?? (await LoginProvider.start());
  const server =
    rest.server ?? (await GuardedServer.start({ issuer: provider.url, ...(era && { era }) }));
  const made = await setupGateway({
    plugins: [[oauthClient, options], ...plugins],
    ...(log && { log }),
    config: {
      management: { mutations: true },
      ...config,
      servers: { guarded: { url: server.url, auth: { type: "oauth", ...auth } as never } },
    },
    client,
  });
  const { gateway, url } = made;
  const status = () => gateway.servers.get("guarded")!.status;
  return {
    ...made,
    provider,
    server,
    status,
    /** Waits until the server is in a state, and a ready one until its tools are listed: an endpoint shows them a turn later. */
    becomes: async (state: string): Promise<void> => {
      await expect.poll(() => status().state).toBe(state);
      if (state === "ready") await expect.poll(() => isListed(gateway)).toBe(true);
    },
    /** Logs the gateway in, as its operator does. */
    logIn: async (browser = new LoginBrowser(), headers: Record<string, string> = {}) => {
      const { link, id } = await beginLogin(url, { headers });
      return { page: await browser.connect(link), id };
    },
  };
}

const ANYBODY = createPrincipal({ kind: "user", id: "anybody", roles: new Set(["caller"]) });

/** Whether each endpoint shows the tools of the server. */
async function isListed(gateway: Gateway): Promise<boolean> {
  const { servers, endpoints } = gateway;
  const management = await gateway.manage();
  const [tool] = servers.get("guarded")!.catalogue.tools;
  return (
    !tool || management.endpointNames("guarded", tool.name, ANYBODY).length === endpoints.length
  );
}

/** Begins a login of the gateway's account, as its operator does. @returns its link, and its id */
export async function beginLogin(
  url: string,
  { server = "guarded", headers = {} }: { server?: string; headers?: Record<string, string> } = {},
): Promise<{ readonly link: string; readonly id: string }> {
  const path = `${url}/_meta/oauth-client/servers/${server}/login`;
  const begun = await (await fetch(path, { method: "POST", headers })).json();
  const { location: link, id } = begun as { location: string; id: string };
  return { link, id };
}

/** Begins one, and opens its link in a browser. @returns where the browser is sent */
export async function openLogin(
  url: string,
  browser = new LoginBrowser(),
  server = "guarded",
): Promise<{ readonly location: string; readonly browser: LoginBrowser }> {
  const { link } = await beginLogin(url, { server });
  return { location: await browser.start(link), browser };
}

/** Goes through the pages of the provider. @returns the redirect that would end the login */
export async function answerOf(
  { location, browser }: { readonly location: string; readonly browser: LoginBrowser },
  url: string,
): Promise<URL> {
  let next = location;
  while (!next.startsWith(url))
    next = new URL((await browser.fetch(next)).headers.get("location")!, next).href;
  return new URL(next);
}

/** Text of an answer. */
export function textOf(answer: { result?: Record<string, unknown> | undefined }): string {
  const [first] = (answer.result?.["content"] ?? []) as { text?: string }[];
  return first?.text ?? JSON.stringify(answer);
}

const SECRETS = { ann: createKey("caller"), bob: createKey("caller"), boss: createKey("operator") };
const hashOf = (key: string): string => `sha256:${digestOf(key)}`;

/** Two people with keys, and an operator. */
export const KEYS: NonNullable<NonNullable<GatewayConfigInput["auth"]>["keys"]> = {
  ann: { hash: hashOf(SECRETS.ann), role: "caller" },
  bob: { hash: hashOf(SECRETS.bob), role: "caller" },
  boss: { hash: hashOf(SECRETS.boss), role: "operator" },
};

/** What a person's requests carry. */
export function headersOf(who: keyof typeof SECRETS): { readonly authorization: string } {
  return { authorization: `Bearer ${SECRETS[who]}` };
}

/** {@link setupRig} where everybody has an account of their own. */
export function setupPersonal({ auth = {}, config = {}, ...rest }: RigOptions = {}) {
  return setupRig({
    ...rest,
    auth: { per: "principal", ...auth },
    config: { ...config, auth: { keys: KEYS, maxFailures: 0 } },
  });
}

/** A person's client; without capabilities it cannot show a page. */
export async function clientOf(
  url: string,
  who: keyof typeof SECRETS,
  capabilities: Record<string, object> = {},
) {
  const client = await connectClient(`${url}/mcp`, { headers: headersOf(who), capabilities });
  onTestFinished(() => client.close());
  const call = async (name: string, args = {}): Promise<string> =>
    textOf({ result: await client.callTool({ name, arguments: args }) });
  const key = SECRETS[who];
  return {
    client,
    call,
    key,
    linkOf: async (): Promise<string> =>
      linkIn(await call("connect_account", { server: "guarded" })),
    /** Connects the account of a user of the provider. */
    async connect(user: string): Promise<Response> {
      const link = linkIn(await call("connect_account", { server: "guarded" }));
      return new LoginBrowser(user).connect(link, key);
    },
  };
}

/** The link in a text. */
export function linkIn(text: string): string {
  const [link] = /http\S+/.exec(text) ?? [];
  if (link === undefined) throw new Error(`No link: ${text}`);
  return link;
}
