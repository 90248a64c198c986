import type { PluginComposition } from "../host/composition.ts";
import { STAGES } from "../stages.ts";
import { composeConfig } from "./composed.ts";

/** Prints the composed gateway as a Mermaid flow chart: the pipeline, who joins it, and who takes whose service. */
export async function graph(file: string | undefined): Promise<void> {
  console.log(mermaid(await composeConfig(file)));
}

/** The text of the chart. */
export function mermaid(plugins: readonly PluginComposition[]): string {
  const id = new Map(plugins.map((plugin, index) => [plugin.name, `p${index}`]));
  const stages = STAGES.filter((stage) => plugins.some((plugin) => plugin.stages.includes(stage)));
  const chain = ["call", ...stages.map((stage) => `stage_${stage}`), "servers"];
  return [
    "flowchart LR",
    "  call([call])",
    ...stages.map((stage) => `  stage_${stage}[${stage}]`),
    "  servers[(servers)]",
    `  ${chain.join(" --> ")}`,
    ...plugins.map(({ name }) => `  ${id.get(name)}{{"${name}"}}`),
    ...plugins.flatMap(({ name, stages: joined }) =>
      joined.map((stage) => `  ${id.get(name)} -.- stage_${stage}`),
    ),
    ...plugins.flatMap(({ name, injects }) =>
      injects.flatMap(({ service, from }) =>
        from === undefined ? [] : [`  ${id.get(from)} -- ${service} --> ${id.get(name)}`],
      ),
    ),
    ...plugins.flatMap(({ name, servers }) =>
      servers.length === 0 ? [] : [`  ${id.get(name)} --> servers`],
    ),
  ].join("\n");
}
