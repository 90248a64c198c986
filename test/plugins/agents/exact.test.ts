import { expect, it } from "vitest";
import { fileURLToPath } from "node:url";
import { until } from "../../kit/until.ts";
import { ask, connect, setupTeam } from "./kit.ts";

const SCRIPT = fileURLToPath(new URL("../../fixtures/process/exact-server.mjs", import.meta.url));

it.each(["9007199254740993", "18446744073709551615", "1e400", "0.10000000000000000555", "42"])(
  "bugs-mcp 3: what a model writes as %s is what the tool gets, and what it answers is what the model reads",
  async (number) => {
    const args = `{"amount":${number},"list":[${number}]}`;
    const { urlOf, model, gateway } = await setupTeam({
      agents: { harper: { servers: ["exact"] } },
      config: { servers: { exact: { command: process.execPath, args: [SCRIPT] } } },
      script: [{ calls: [{ name: "exact__data", args }] }, { text: "Done." }],
    });
    await until(() => gateway.servers.get("exact")?.status.state === "ready");
    const client = await connect(urlOf("harper"));
    expect(await ask(client, "harper", { message: "Go" })).toEqual({
      text: "Done.",
      isError: false,
    });
    expect(model.requests.at(-1)!.results).toEqual([args]);
  },
);
