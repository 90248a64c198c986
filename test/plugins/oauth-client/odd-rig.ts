import { pino } from "pino";
import { setupGateway } from "../../../core/testing/index.ts";
import oauthClient from "../../../plugins/oauth-client/index.ts";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import type { OddLogin } from "../../fixtures/odd-login.ts";
import { until } from "../../fixtures/until.ts";
import { textOf } from "./kit.ts";

/** A line of the log. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** A gateway before an {@link OddLogin}. */
export async function setupOdd(
  odd: OddLogin,
  auth: object = {},
  options: Record<string, unknown> = {},
) {
  const lines: string[] = [];
  const { gateway, url } = await setupGateway({
    plugins: [[oauthClient, options]],
    log: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
    config: {
      management: { mutations: true },
      servers: { odd: { url: odd.url, auth: { type: "oauth", ...auth } as never } },
    },
    client: false,
  });
  return {
    gateway,
    url,
    lines,
    /** The accounts, as operators see them. */
    view: async (): Promise<unknown> => (await fetch(`${url}/_meta/oauth-client/servers`)).json(),
    /** The lines about failed logins. */
    failures: (): readonly LogLine[] =>
      lines
        .map((line) => JSON.parse(line) as LogLine)
        .filter(({ msg }) => msg === "a login failed"),
    /** Logs the gateway in as its operator does. @returns what the page or the refusal says, and where the login was */
    logIn: async (): Promise<{ readonly told: string; readonly location: string | undefined }> => {
      const begun = await fetch(`${url}/_meta/oauth-client/servers/odd/login`, { method: "POST" });
      const text = await begun.text();
      const { location: link } = JSON.parse(text) as { location?: string };
      if (link === undefined) return { told: text, location: undefined };
      const browser = new LoginBrowser();
      const location = await browser.start(link);
      return { told: await (await browser.open(location)).text(), location };
    },
    /** What the tool says, once the server is there. */
    whoami: async () => {
      await until(() => gateway.servers.get("odd")!.status.state === "ready");
      return textOf(await gateway.call({ server: "odd", name: "whoami", args: {} }));
    },
  };
}
