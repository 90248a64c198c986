import type { PluginComposition } from "./composition.ts";
import { STAGES } from "../../call/stages.ts";

/**
 * The composed gateway as a Mermaid flow chart: the pipeline, who joins it, and who takes whose service. Every label is quoted and no id
 * is a word of Mermaid's own, of which there are many: `call` is one.
 */
export function drawChart(plugins: readonly PluginComposition[]): string {
  const id = new Map(plugins.map((plugin, index) => [plugin.name, `plugin_${index}`]));
  const stages = STAGES.filter((stage) => plugins.some((plugin) => plugin.stages.includes(stage)));
  const chain = ["calls_in", ...stages.map((stage) => `stage_${stage}`), "servers_out"];
  return [
    "flowchart LR",
    '  calls_in(["calls"])',
    ...stages.map((stage) => `  stage_${stage}["${stage}"]`),
    '  servers_out[("servers")]',
    `  ${chain.join(" --> ")}`,
    ...plugins.map(({ name }) => `  ${id.get(name)}{{"${quoted(name)}"}}`),
    ...plugins.flatMap(({ name, stages: joined }) =>
      joined.map((stage) => `  ${id.get(name)} -.- stage_${stage}`),
    ),
    ...plugins.flatMap(({ name, injects }) =>
      injects.flatMap(({ service, from }) =>
        from !== undefined && id.has(from)
          ? [`  ${id.get(from)} -- "${quoted(service)}" --> ${id.get(name)}`]
          : [],
      ),
    ),
    ...plugins.flatMap(({ name, servers }) =>
      servers.length === 0 ? [] : [`  ${id.get(name)} --> servers_out`],
    ),
  ].join("\n");
}

/** Text between quotes, which may hold anything but quotes, and entities. */
function quoted(text: string): string {
  return text.replaceAll("#", "#35;").replaceAll('"', "#quot;").replaceAll(/\s+/g, " ");
}
