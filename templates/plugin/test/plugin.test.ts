import { setupGateway, testPlugin } from "propylon/testing";
import { expect, it } from "vitest";
import notes from "../src/index.js";

// Applies, reloads, disposes, and leaves no handle, tool, route or metric behind.
testPlugin(notes, { config: { maxNotes: 2 }, changed: { maxNotes: 3 } });

it("keeps the newest notes", async () => {
  const { client, url } = await setupGateway({ plugins: [[notes, { maxNotes: 2 }]] });
  for (const text of ["one", "two", "three"])
    await client.callTool({ name: "note_add", arguments: { text } });
  const { structuredContent } = await client.callTool({ name: "note_list" });
  expect(structuredContent).toEqual({ notes: ["three", "two"] });
  expect(await (await fetch(`${url}/notes`)).json()).toEqual({ notes: ["three", "two"] });
});

it("says what is wrong with an argument", async () => {
  const { client } = await setupGateway({ plugins: [notes] });
  const { isError } = await client.callTool({ name: "note_add", arguments: { text: "" } });
  expect(isError).toBe(true);
});
