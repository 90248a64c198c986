import { digestOf } from "propylon/kit";
import { createKey } from "../../../plugins/keys/key.ts";
import type { AnyPlugin } from "../../../core/index.ts";
import { setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import openapi from "../../../plugins/openapi/index.ts";
import sessions from "../../../plugins/sessions/index.ts";

export const KEYS = { ops: createKey("operator"), look: createKey("viewer") };

/** `auth` with the keys; another role for `ops` on request. */
export const authOf = (role = "operator"): object => ({
  keys: {
    ops: { role, hash: `sha256:${digestOf(KEYS.ops)}` },
    look: { role: "viewer", hash: `sha256:${digestOf(KEYS.look)}` },
  },
});

export interface Browser {
  cookie: string | undefined;
  readonly ask: (
    method: string,
    path: string,
    more?: { headers?: Record<string, string>; body?: object; signal?: AbortSignal },
  ) => Promise<Response>;
}

export interface SignedGateway extends TestGateway {
  /** A page of the gateway, with its own cookie jar. */
  readonly browser: () => Browser;
  readonly signIn: (key?: string) => Promise<Browser>;
}

export async function startSessions(
  options: object = {},
  more: { readonly auth?: object; readonly plugins?: readonly AnyPlugin[] } = {},
): Promise<SignedGateway> {
  const made = await setupGateway({
    plugins: [
      [gating, { state: false }],
      admin,
      events,
      openapi,
      ...(more.plugins ?? []),
      [sessions, { ...options }],
    ],
    client: false,
    config: { auth: more.auth ?? authOf(), management: { mutations: true } },
  });
  const browser = (): Browser => {
    const own: Browser = {
      cookie: undefined,
      async ask(method, path, { headers = {}, body, signal } = {}) {
        const response = await fetch(`${made.url}${path}`, {
          method,
          headers: {
            origin: made.url,
            "content-type": "application/json",
            ...(own.cookie !== undefined && { cookie: own.cookie }),
            ...headers,
          },
          ...(body && { body: JSON.stringify(body) }),
          ...(signal && { signal }),
        });
        const set = response.headers.getSetCookie().filter((each) => !each.includes("Max-Age=0"));
        if (set[0]) own.cookie = set[0].split(";")[0];
        return response;
      },
    };
    return own;
  };
  return {
    ...made,
    browser,
    async signIn(key = KEYS.ops) {
      const page = browser();
      const headers = { authorization: `Bearer ${key}` };
      const response = await page.ask("POST", "/ui/session", { headers, body: {} });
      if (response.status !== 201) throw new Error(await response.text());
      return page;
    },
  };
}
