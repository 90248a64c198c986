import { expect, it } from "vitest";
import { PATIENCE } from "../fixtures/ci.ts";
import { GatewayProcess, usePlace } from "./gateway-process.ts";

const place = usePlace();

it.each([
  ["a SQLite file", (name: string) => ({ store: `sqlite:./${name}.db` })],
  ["a state file", (name: string) => ({ plugins: { gating: { state: `./${name}.json` } } })],
])(
  "a second process on %s refuses to start, and names the first",
  { timeout: PATIENCE * 120_000 },
  async (_what, stateOf) => {
    const name = `shared-${Math.random().toString(36).slice(2)}`;
    const configOf = (port: number): object => ({
      listeners: { main: { port } },
      ...stateOf(name),
    });
    const first = await GatewayProcess.create(place, configOf);
    await first.begin();
    const second = await GatewayProcess.create(place, configOf);
    second.start();
    expect(await second.death()).toBeGreaterThan(0);
    expect(second.lines.join("\n")).toMatch(/process \d+ on/);
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  },
);
