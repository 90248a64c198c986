import type { CommandDefinition } from "propylon";

/** Configs made from the files of other programs. */
export const commands = {
  import: {
    description: "Print a config made from the files of another program: pallas.",
    arguments: "<program> [folder]",
    async run({ arguments: [program, folder] }) {
      const { importConfig } = await import("./pallas/import.ts");
      await importConfig(program!, folder ?? process.cwd());
    },
  },
} satisfies Record<string, CommandDefinition>;
