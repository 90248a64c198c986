import type { OptionSelector } from "propylon/kit";
import type { GatingOptions } from "./options.ts";

/** The servers and tools that options name. A tool that is reserved under a wrong name is there for everybody. */
export function selectorsOf({ reserved, timeouts }: GatingOptions): readonly OptionSelector[] {
  return [
    ...Object.keys(reserved).flatMap((name) => ofTool(name, ["reserved", name], true)),
    ...Object.keys(timeouts.servers).map((name) => ({
      path: ["timeouts", "servers", name],
      kind: "server" as const,
      name,
      by: "The option timeouts.servers",
      isStrict: false,
    })),
    ...Object.keys(timeouts.tools).flatMap((name) =>
      ofTool(name, ["timeouts", "tools", name], false),
    ),
  ];
}

/** `server/tool`, where the first slash ends the server. */
function ofTool(
  text: string,
  path: readonly string[],
  isStrict: boolean,
): readonly OptionSelector[] {
  const slash = text.indexOf("/");
  const [server, name] = [text.slice(0, slash), text.slice(slash + 1)];
  const own = { path, by: `The option ${path.slice(0, -1).join(".")}` };
  return [
    { ...own, kind: "server", name: server, isStrict },
    { ...own, kind: "tool", server, name, isStrict },
  ];
}
