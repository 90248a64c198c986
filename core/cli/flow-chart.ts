import type { PluginComposition } from "../gateway/composition.ts";
import { STAGES } from "../call/stages.ts";
import { composeConfig } from "./composed.ts";

/** Prints the composed gateway as a Mermaid flow chart: the pipeline, who joins it, and who takes whose service. */
export async function graph(file: string | undefined): Promise<void> {
  console.log(mermaid(await composeConfig(file)));
}

/**
 * The text of the chart. Every label is quoted and no id is a word of Mermaid's own, of which there are many: `call` is one.
 */
export function mermaid(plugins: readonly PluginComposition[]): string {
  const id = new Map(plugins.map((plugin, index) => [plugin.name, `plugin_${index}`]));
  const stages = STAGES.filter((stage) => plugins.some((plugin) => plugin.stages.includes(stage)));
  const chain = ["calls_in", ...stages.map((stage) => `stage_${stage}`), "servers_out"];
  return [
    "flowchart LR",
    '  calls_in(["calls"])',
    ...stages.map((stage) => `  stage_${stage}["${stage}"]`),
    '  servers_out[("servers")]',
    `  ${chain.join(" --> ")}`,
    ...plugins.map(({ name }) => `  ${id.get(name)}{{"${label(name)}"}}`),
    ...plugins.flatMap(({ name, stages: joined }) =>
      joined.map((stage) => `  ${id.get(name)} -.- stage_${stage}`),
    ),
    ...plugins.flatMap(({ name, injects }) =>
      injects.flatMap(({ service, from }) =>
        from === undefined ? [] : [`  ${id.get(from)} -- "${label(service)}" --> ${id.get(name)}`],
      ),
    ),
    ...plugins.flatMap(({ name, servers }) =>
      servers.length === 0 ? [] : [`  ${id.get(name)} --> servers_out`],
    ),
  ].join("\n");
}

/** Text between quotes, which may hold anything but quotes, and entities. */
function label(text: string): string {
  return text.replaceAll("#", "#35;").replaceAll('"', "#quot;").replaceAll(/\s+/g, " ");
}
