import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { definePlugin, GatewayError } from "propylon";
import { Files } from "propylon/kit";
import { Libraries } from "propylon/plugins/team-auth";
import { z } from "zod";

/** Characters of a document around a word that was found. */
const AROUND = 80;
/** Hits in one answer. */
const MAX_HITS = 20;

interface Document {
  readonly library: string;
  readonly name: string;
  readonly text: string;
}

/** Markdown files in libraries, of which a caller finds and reads those that team-auth says, and knows of no others. */
export default definePlugin({
  name: "documents",
  config: z.strictObject({
    libraries: z
      .record(z.string(), z.string())
      .describe("Folder of each library, by its uid; relative to the config."),
  }),
  inject: { files: Files, libraries: Libraries },
  async setup(gateway) {
    const { files, libraries } = gateway.services;
    const documents = await readAll(files.folder, gateway.config.libraries);

    gateway.tool("list_libraries", {
      description: "Lists the libraries that you may read.",
      run: (_, { principal }) => ({ libraries: libraries.of(principal) }),
    });

    gateway.tool("search", {
      description: "Finds documents by a word.",
      input: z.object({ query: z.string().min(2).max(100) }),
      run: ({ query }, { principal }) => {
        const mine = libraries.of(principal);
        const visible = documents.filter(({ library }) => libraries.within(mine, library));
        return { results: visible.flatMap((each) => hitIn(each, query)).slice(0, MAX_HITS) };
      },
    });

    gateway.tool("get_document", {
      description: "Reads a document.",
      input: z.object({ library: z.string().max(64), name: z.string().max(200) }),
      run: ({ library, name }, { principal }) => {
        const isMine = libraries.within(libraries.of(principal), library);
        const found = documents.find((each) => each.library === library && each.name === name);
        // One answer for what is not there and what is not the caller's.
        if (!isMine || !found) throw new GatewayError("not_found", "There is no such document.");
        return found.text;
      },
    });
  },
});

function hitIn({ library, name, text }: Document, query: string) {
  const at = text.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return [];
  const passage = text.slice(Math.max(0, at - AROUND), at + query.length + AROUND);
  return [{ library, name, passage: passage.replaceAll(/\s+/g, " ").trim() }];
}

async function readAll(
  base: string,
  folders: Readonly<Record<string, string>>,
): Promise<readonly Document[]> {
  const all = Object.entries(folders).map(async ([library, path]) => {
    const folder = resolve(base, path);
    const names = (await readdir(folder)).filter((name) => name.endsWith(".md")).toSorted();
    return Promise.all(
      names.map(async (name) => ({
        library,
        name,
        text: await readFile(join(folder, name), "utf8"),
      })),
    );
  });
  return (await Promise.all(all)).flat();
}
