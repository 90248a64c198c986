import { Counter, Histogram } from "prom-client";
import type { LiveTask } from "./live-task.ts";

const labelNames = ["skill", "state"] as const;

/** How tasks ended, and how long the work on their last message took. Lives through reloads, like the tasks. */
export class TaskCounts {
  readonly ends = new Counter({
    name: "a2a_tasks_total",
    help: "Tasks that came to a final state.",
    labelNames,
    registers: [],
  });
  readonly durations = new Histogram({
    name: "a2a_task_duration_seconds",
    help: "Time from the last message of a task to its final state.",
    labelNames,
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800],
    registers: [],
  });

  /** How deliveries of the queue ended: those of tasks that had ended are stale. */
  readonly deliveries = new Counter({
    name: "a2a_deliveries_total",
    help: "Tasks that the queue handed to this gateway, by how that ended.",
    labelNames: ["outcome"],
    registers: [],
  });
  /** Messages that were refused because too much was under way or waiting. */
  readonly refusals = new Counter({
    name: "a2a_refused_messages_total",
    help: "Messages refused because too many tasks were under way or waiting.",
    registers: [],
  });

  count({ skill, state, begunAt }: LiveTask): void {
    this.ends.inc({ skill, state });
    this.durations.observe({ skill, state }, (performance.now() - begunAt) / 1_000);
  }
}
