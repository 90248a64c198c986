import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";
import { z } from "zod";
import { bodySchemas } from "./schemas.ts";

/** Agents in a web interface: those that there are, and a new one. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  gateway.add(Panels, {
    id: "agents",
    title: "Started agents",
    place: "page",
    access: "caller",
    view: {
      table: {
        from: "GET /api/agents?limit=100",
        rows: "/agents",
        columns: [
          { label: "Id", value: "/agent_id", as: "code" },
          { label: "Status", value: "/status", as: "state" },
          { label: "Output", value: "/preview" },
          { label: "Summary", value: "/summary" },
          { label: "Reason", value: "/stop_reason" },
          { label: "Payload", value: "/payload_size", as: "bytes" },
        ],
        actions: [
          {
            label: "Start",
            route: "POST /api/agents/:id/start",
            params: { id: "/agent_id" },
            when: { "/status": ["ready"] },
          },
          {
            label: "Stop",
            route: "POST /api/agents/:id/stop",
            params: { id: "/agent_id" },
            when: { "/status": ["ready", "running"] },
            confirm: "The agent ends; what it has done so far stays.",
          },
          {
            label: "Complete",
            route: "POST /api/agents/:id/complete",
            params: { id: "/agent_id" },
            when: { "/status": ["ready", "running"] },
            input: bodySchemas.complete,
          },
          {
            label: "Delete",
            route: "DELETE /api/agents/:id",
            params: { id: "/agent_id" },
            when: { "/status": ["ready", "completed", "stopped"] },
            confirm: "The agent and its payload are gone for good.",
          },
        ],
        empty: "No agent has been made yet.",
      },
    },
  });
  gateway.add(Panels, {
    id: "new-agent",
    title: "New agent",
    place: "page",
    access: "caller",
    view: {
      form: {
        route: "POST /api/agents",
        input: bodySchemas.create.extend({
          start: z.boolean().default(true).describe("Whether it starts at once."),
        }),
        submit: "Create",
        done: "Agent created.",
      },
    },
  });
}
