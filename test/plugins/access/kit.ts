import { z } from "zod";
import {
  definePlugin,
  GatewayError,
  type GatewayConfigInput,
  type Identity,
  type Role,
} from "../../../core/index.ts";
import { Authenticators } from "propylon/kit";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import access from "../../../plugins/access/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

/** Somebody with a bearer token of their own, as an authenticator of a plugin knows them. */
export interface Person {
  readonly kind: Exclude<Identity["kind"], "anonymous">;
  readonly id: string;
  readonly roles?: readonly Role[];
  readonly libraries?: readonly string[];
}

export const tokenOf = ({ kind, id }: Person): string =>
  `crowd_${encodeURIComponent(`${kind}:${id}`)}`;
export const headersOf = (person: Person): Record<string, string> => ({
  authorization: `Bearer ${tokenOf(person)}`,
});

/** Knows a few people, whatever their kind. */
export const crowd = (people: readonly Person[]) =>
  definePlugin({
    name: "crowd",
    setup(gateway) {
      const byToken = new Map(people.map((person) => [tokenOf(person), person]));
      gateway.add(Authenticators, {
        name: "crowd",
        authenticate: ({ headers }) => {
          const token = /^Bearer (crowd_\S+)$/.exec(String(headers["authorization"]))?.[1];
          if (token === undefined) return undefined;
          const person = byToken.get(token);
          if (!person)
            throw new GatewayError("unauthorized", "The crowd does not know this token.");
          const { kind, id, roles = ["caller"], libraries } = person;
          return { kind, id, roles: new Set(roles), ...(libraries && { claims: { libraries } }) };
        },
      });
    },
  });

/** A server of a plugin with tools that count their calls, a resource, a template and a prompt. */
export const house = (name: string, tools: readonly string[], ran: string[] = []) =>
  definePlugin({
    name,
    setup(gateway) {
      for (const tool of tools)
        gateway.tool(tool, {
          description: tool,
          input: z.looseObject({}),
          run() {
            ran.push(`${name}.${tool}`);
            return `${name} ${tool}`;
          },
        });
      gateway.resource("page", { uri: `${name}://page`, read: () => ({ text: "page" }) });
      gateway.resource("pages", {
        uriTemplate: `${name}://pages/{id}`,
        read: ({ id }) => ({ text: id! }),
        complete: () => ["one"],
      });
      gateway.prompt(`${name}_hello`, {
        arguments: [{ name: "who" }],
        get: () => ({ role: "user", content: { type: "text", text: "hello" } }),
        complete: () => ["one"],
      });
    },
  });

type Rules = NonNullable<GatewayConfigInput["access"]>;

/** An answer of a route, or the envelope of an error. */
interface Body {
  readonly [member: string]: unknown;
  readonly error?: { readonly code: string };
}

/** A gateway with rules, over MCP and HTTP. */
export async function withRules(
  rules: Rules,
  people: readonly Person[],
  {
    plugins = [],
    config = {},
  }: { plugins?: readonly PluginEntry[]; config?: GatewayConfigInput } = {},
) {
  const started = await setupGateway({
    plugins: [access, openapi, crowd(people), ...plugins],
    config: { ...config, access: rules },
    client: false,
  });
  const { url } = started;
  const post = async (person: Person, path: string, body: object = {}) => {
    const headers = {
      ...headersOf(person),
      "content-type": "application/json",
      "a2a-version": "1.0",
    };
    const response = await fetch(url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const get = async (person: Person, path: string) => {
    const response = await fetch(url + path, { headers: headersOf(person) });
    return { status: response.status, body: (await response.json()) as Body };
  };
  return { ...started, post, get, at: started.gateway.endpoints[0]!.url };
}
