import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { createFileGateway } from "../../../core/index.ts";
import { optionsSchema } from "../../../plugins/health/options.ts";
import type { HealthReport } from "../../../plugins/health/service.ts";
import { makeFolder } from "../../kit/folder.ts";

const PAGE = await readFile(new URL("../../../docs/plugins/health.md", import.meta.url), "utf8");

it("the example of the page runs, and P059: names both servers that are not there", async () => {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, /```yaml\n([^]*?)```/.exec(PAGE)![1]!);
  await writeFile(join(folder, ".env"), "ARGOS_TOKEN=secret-of-this-test\n");
  const gateway = await createFileGateway(file, { log: pino({ level: "silent" }) });
  onTestFinished(() => gateway.close({ grace: 0 }));
  const { result } = await gateway.call({ server: "research", name: "get_health" });
  const [{ text }] = result!["content"] as [{ text: string }];
  const report = JSON.parse(text) as HealthReport;
  expect(report.status).toBe("error");
  for (const name of ["argos", "neo4j"]) expect(report.message).toContain(name);
  expect(text).not.toContain("secret-of-this-test");
});

it("the page has every option with its default", () => {
  const rows = [...PAGE.matchAll(/^\| `(\w+)` +\| [^|]+\| `([^`]+)` +\|/gm)].map(
    ([, name, value]) => [name!, value!],
  );
  const { shape } = optionsSchema;
  expect(rows.map(([name]) => name)).toEqual(Object.keys(shape));
  expect(optionsSchema.parse(Object.fromEntries(rows))).toEqual(optionsSchema.parse({}));
});
