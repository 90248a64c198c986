import { Gauge } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { z } from "zod";
import { Notes } from "./notes.js";
import { optionsSchema } from "./options.js";

/** Keeps notes: two tools, a route and a metric. Notes survive a reload of the gateway. */
export default definePlugin({
  name: "notes",
  config: optionsSchema,
  inject: { metrics: Metrics },
  setup(gateway) {
    const { maxNotes } = gateway.config;
    const notes = gateway.keep("notes", () => new Notes());
    notes.limit(maxNotes);

    gateway.tool("note_add", {
      description: "Keeps a note.",
      input: z.object({ text: z.string().min(1).describe("The note.") }),
      run: ({ text }) => ({ kept: notes.add(text) }),
    });
    gateway.tool("note_list", {
      description: "Lists the notes that are kept, the newest first.",
      annotations: { readOnlyHint: true },
      run: () => ({ notes: notes.list() }),
    });
    gateway.route("GET", "/notes", { access: "viewer", mutates: false }, () => ({
      notes: notes.list(),
    }));
    gateway.services.metrics.registerMetric(
      new Gauge({
        name: "notes_kept",
        help: "Notes that are kept.",
        registers: [],
        collect() {
          this.set(notes.list().length);
        },
      }),
    );
  },
});
