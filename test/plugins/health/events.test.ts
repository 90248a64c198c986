import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import events from "../../../plugins/events/index.ts";
import health from "../../../plugins/health/index.ts";
import { setupTeam } from "../agents/kit.ts";
import { readSse, type Reader } from "../events/readers.ts";
import { servePatient } from "./kit.ts";

/** Nothing here counts as slow, whatever else this machine does. */
const OPTIONS = { interval: "1s", timeout: "30s", slow: "30s" };

/** Reads from the beginning: what was told before, too. */
async function readAll(url: string): Promise<Reader> {
  const { instance } = (await (await readSse(url)).find("hello")).data;
  return readSse(url, { query: `lastEventId=${instance}-0` });
}

const verdictsOf = (reader: Reader, kind: "health" | "agent_state") =>
  reader.told(kind).map(({ at, ...verdict }) => {
    expect(at).toEqual(expect.any(String));
    return verdict;
  });

it("M021: another verdict about a server, and about the agent that needs it, is an event", async () => {
  const argos = await servePatient();
  const { url } = await setupTeam({
    agents: { research: { servers: ["argos"] } },
    plugins: [[health, OPTIONS], events],
    config: { servers: { argos: { url: argos.url } } },
  });
  const reader = await readAll(url);
  const ofArgos = () => verdictsOf(reader, "health").filter(({ server }) => server === "argos");
  await expect
    .poll(() => verdictsOf(reader, "agent_state"))
    .toEqual([{ agent: "research", status: "ok", was: null }]);
  argos.behave((_req, res) => void res.writeHead(500).end("secret-canary"));
  await expect.poll(() => ofArgos().at(-1)).toMatchObject({ server: "argos", status: "error" });
  await expect
    .poll(() => verdictsOf(reader, "agent_state").at(-1))
    .toEqual({ agent: "research", status: "error", was: "ok" });
  const before = ofArgos().length;
  argos.behave(undefined);
  await expect
    .poll(() => ofArgos().slice(before))
    .toEqual([{ server: "argos", status: "ok", was: "error" }]);
  await expect
    .poll(() => verdictsOf(reader, "agent_state").at(-1))
    .toEqual({ agent: "research", status: "ok", was: "error" });
  expect(JSON.stringify(reader.told("health"))).not.toContain("canary");
});

it("a verdict is told once, also through a reload, and again when its server is another one", async () => {
  const argos = await servePatient();
  const configOf = (interval: string, name: string) => ({
    listeners: { main: { port: 0 } },
    servers: { [name]: { url: argos.url } },
    plugins: { health: { ...OPTIONS, interval }, events: {} },
  });
  const config = configOf("1s", "argos");
  const { gateway, url } = await setupGateway({ plugins: [health, events], config, client: false });
  const reader = await readAll(url);
  const first = { server: "argos", status: "ok", was: null };
  await expect.poll(() => verdictsOf(reader, "health")).toEqual([first]);
  await gateway.apply(configOf("2s", "argos"));
  const probes = argos.probes.opened;
  await expect.poll(() => argos.probes.opened).toBeGreaterThan(probes + 1);
  expect(verdictsOf(reader, "health")).toEqual([first]);
  await gateway.apply(configOf("2s", "other"));
  await expect
    .poll(() => verdictsOf(reader, "health").at(-1))
    .toEqual({ ...first, server: "other" });
});
