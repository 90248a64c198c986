import { appendFile, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { definePlugin } from "propylon";
import { Files } from "propylon/kit";
import { z } from "zod";

/** The team's notes in one file, a line each: tools for agents, and a route for people. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    file: z.string().default("./data/notes.jsonl").describe("Where notes are kept."),
    maxResults: z.int().min(1).default(20).describe("Notes that one search answers at most."),
  }),
  inject: { files: Files },
  setup(gateway) {
    const { maxResults } = gateway.config;
    const file = resolve(gateway.services.files.folder, gateway.config.file);

    gateway.tool("note_add", {
      description: "Writes a note down for the whole team.",
      input: z.object({ text: z.string().min(1).max(10_000).describe("The note.") }),
      async run({ text }, { principal }) {
        const note = { at: new Date().toISOString(), by: principal.id, text };
        await appendFile(file, `${JSON.stringify(note)}\n`, { mode: 0o600 });
        return "It is noted.";
      },
    });

    gateway.tool("note_search", {
      description: "Finds notes that have all of the words, the newest first.",
      input: z.object({ words: z.string().describe("Words, in any order.") }),
      annotations: { readOnlyHint: true },
      async run({ words }) {
        const wanted = words.toLowerCase().split(/\s+/);
        const notes = (await read(file)).filter((note) =>
          wanted.every((word) => note.toLowerCase().includes(word)),
        );
        return notes.length === 0
          ? "There is no such note."
          : notes.slice(0, maxResults).join("\n");
      },
    });

    gateway.route("GET", "/notes", { access: "viewer", mutates: false }, async () => ({
      notes: (await read(file)).map((line) => JSON.parse(line) as unknown),
    }));
  },
});

/** The notes of a file, the newest first; none when there is no such file yet. */
async function read(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text.split("\n").filter(Boolean).toReversed();
}
