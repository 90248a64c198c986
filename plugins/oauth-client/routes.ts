import { GatewayError, isGatewayError, type PluginContext, type RouteEvent } from "propylon";
import { pathParameter } from "propylon/kit";
import type { LoginFlow } from "./login/login-flow.ts";
import { connectPage, endPage } from "./login/pages.ts";
import {
  type ClientWish,
  describeClient,
  documentOf,
  type Introduction,
  isLogin,
} from "./provider/registration.ts";

/** Where the pages of logins are. */
export const LOGIN_PAGES = "/oauth-client";
const ADMIN = "/_meta/oauth-client/servers";
const COOKIE = "propylon-login";

/** Serves the pages that people log in with, and what operators do for the gateway's own accounts. */
export function registerRoutes(
  gateway: Pick<PluginContext, "route">,
  flow: LoginFlow,
  introduction: () => Introduction,
): void {
  const open = { access: "public", mutates: false } as const;
  const change = { access: "public", mutates: true } as const;
  gateway.route("GET", `${LOGIN_PAGES}/clients/:login`, open, (event) =>
    clientDocument({ introduction: introduction(), login: pathParameter(event, "login") }),
  );
  gateway.route("GET", `${LOGIN_PAGES}/connect/:ticket`, open, async (event) =>
    connectPage(await flow.visit(pathParameter(event, "ticket"), event.context.principal)),
  );
  gateway.route("POST", `${LOGIN_PAGES}/connect/:ticket`, change, async (event) => {
    const ticket = pathParameter(event, "ticket");
    const { location, browser } = await flow.start(ticket, event.context.principal);
    return Response.json(
      { location },
      { headers: { "set-cookie": cookie(browser, introduction()) } },
    );
  });
  gateway.route("GET", `${LOGIN_PAGES}/callback/:login`, change, (event) =>
    endLogin(flow, event, introduction()),
  );
  registerAdmin(gateway, flow);
}

function registerAdmin(gateway: Pick<PluginContext, "route">, flow: LoginFlow): void {
  const read = { access: "operator", mutates: false, management: true } as const;
  const write = { access: "operator", mutates: true, management: true } as const;
  gateway.route("GET", ADMIN, read, async () => ({
    ok: true,
    servers: await flow.view(undefined),
  }));
  gateway.route("POST", `${ADMIN}/:server/login`, write, async (event) => {
    const server = targetOf(event);
    return { ok: true, ...(await flow.startForGateway(server)) };
  });
  gateway.route("GET", `${ADMIN}/:server/login/:id`, read, async (event) => {
    const outcome = await flow.outcome(pathParameter(event, "id"));
    const state = outcome === undefined ? "pending" : outcome.isDone ? "done" : "failed";
    return { ok: true, state, ...(outcome?.reason !== undefined && { reason: outcome.reason }) };
  });
  gateway.route("DELETE", `${ADMIN}/:server/login`, write, async (event) => {
    const server = targetOf(event);
    return { ok: true, was: await flow.logOut(server, undefined) };
  });
}

function targetOf(event: RouteEvent): string {
  const server = pathParameter(event, "server");
  event.context.target = { server };
  return server;
}

async function endLogin(
  flow: LoginFlow,
  event: RouteEvent,
  introduction: Introduction,
): Promise<Response> {
  try {
    const browser = readCookie(event.req.headers.get("cookie") ?? "", introduction);
    const { server, ref, outcome } = await flow.end(
      pathParameter(event, "login"),
      event.url.searchParams,
      browser,
    );
    event.context.target = { server, account: ref ?? "gateway" };
    if (!outcome.isDone)
      return endPage("Not connected", outcome.reason ?? "The login failed.", 400);
    const whose = ref === undefined ? "The gateway is" : "Your account is";
    return endPage("Connected", `${whose} connected with ${server}. You can close this page.`);
  } catch (error) {
    if (!isGatewayError(error) || error.status >= 500) throw error;
    return endPage("Not connected", `${error.message} ${error.hint ?? ""}`, error.status);
  }
}

/** The metadata document of the gateway (OAuth Client ID Metadata Document). */
function clientDocument(wish: ClientWish): object {
  const document = documentOf(wish.introduction, wish.login);
  if (document === undefined)
    throw new GatewayError("not_found", "The gateway has no address that others can reach.", {
      hint: "Set publicUrl to its https URL.",
    });
  if (!isLogin(wish.login)) throw new GatewayError("not_found", "There is no such client.");
  return { client_id: document, ...describeClient(wish) };
}

function cookie(value: string, { base }: Introduction): string {
  const secure = base.startsWith("https:") ? "; Secure" : "";
  // Lax: the redirect comes from another site.
  return `${nameOfCookie(base)}=${value}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax${secure}`;
}

function readCookie(header: string, { base }: Introduction): string | undefined {
  return new RegExp(`(?:^|;\\s*)${nameOfCookie(base)}=([\\w-]{1,100})`).exec(header)?.[1];
}

/** Another host of the domain cannot set a cookie of this name, and end its own login with somebody's account (RFC 6265bis section 4.1.3.2). */
function nameOfCookie(base: string): string {
  return base.startsWith("https:") ? `__Host-${COOKIE}` : COOKIE;
}
