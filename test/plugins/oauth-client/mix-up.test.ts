import { expect, it } from "vitest";
import { readAuth } from "../../../plugins/servers/service.ts";
import {
  documentOf,
  loginOf,
  redirectOf,
} from "../../../plugins/oauth-client/provider/registration.ts";
import { LoginBrowser, LoginProvider } from "../../fixtures/login-provider.ts";
import { GuardedServer } from "../../fixtures/guarded-server.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import oauthClient from "../../../plugins/oauth-client/index.ts";
import { openLogin } from "./kit.ts";

const auth = readAuth("oauth");
const introduction = { name: "gw", base: "https://gw.example/oauth-client" };

it("attacks S1-5: each server has an address of its own at each authorization server", () => {
  const logins = ["a", "b"].flatMap((server) =>
    ["https://one.example", "https://two.example"].map((issuer) => loginOf(server, auth, issuer)),
  );
  expect(new Set(logins).size).toBe(4);
  expect(redirectOf(introduction, logins[0]!)).toBe(`${introduction.base}/callback/${logins[0]}`);
  expect(documentOf(introduction, logins[0]!)).toBe(`${introduction.base}/clients/${logins[0]}`);
  const own = { ...auth, client: { ...auth.client, id: "registered" } };
  expect(loginOf("a", own, "https://one.example")).toBe("a");
});

it("attacks S2-5: two servers of one authorization server are two clients there", async () => {
  const provider = await LoginProvider.start();
  const [one, two] = [
    await GuardedServer.start({ issuer: provider.url }),
    await GuardedServer.start({ issuer: provider.url }),
  ];
  const { url } = await setupGateway({
    plugins: [[oauthClient, {}]],
    config: {
      management: { mutations: true },
      servers: {
        one: { url: one.url, auth: { type: "oauth" } as never },
        two: { url: two.url, auth: { type: "oauth" } as never },
      },
    },
    client: false,
  });
  const begin = async (server: string): Promise<URLSearchParams> => {
    const { location } = await openLogin(url, new LoginBrowser(), server);
    return new URL(location).searchParams;
  };
  const [first, second] = [await begin("one"), await begin("two")];
  for (const name of ["client_id", "redirect_uri"])
    expect(first.get(name)).not.toBe(second.get(name));
});
