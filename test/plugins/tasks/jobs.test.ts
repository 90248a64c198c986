import { Answer, definePlugin, GatewayError, type Principal } from "propylon";
import { setupGateway } from "propylon/testing";
import tasks, {
  type SharedTask,
  type TaskHandle,
  Tasks,
  type TaskService,
} from "../../../plugins/tasks/index.ts";
import { type JobsReplica, MAX_EACH, testJobs } from "../../fixtures/jobs.ts";

testJobs("tasks", async (kept, { bounded = false } = {}): Promise<JobsReplica> => {
  const held: { service?: TaskService } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { tasks: Tasks },
    setup: ({ services }) => void (held.service = services.tasks),
  });
  const options = bounded ? { maxRunningEach: MAX_EACH } : {};
  await setupGateway({
    client: false,
    plugins: [kept.plugin, [tasks, options], holder],
    config: { store: "kept" },
  });
  const service = held.service!;
  const handles = new Map<string, TaskHandle>();
  const find = async (id: string, who: Principal): Promise<SharedTask> => {
    const task = await service.find(id, who);
    if (!task) throw new GatewayError("not_found", "No such task.");
    return task;
  };
  return {
    async begin(principal) {
      const handle = await service.calls.begin({
        server: "server",
        name: "tool",
        principal,
        cancel() {},
      });
      handles.set(handle.id, handle);
      return handle.id;
    },
    finish: (id) => handles.get(id)!.finish(Answer.result({ content: [] })),
    state: async (id, who) => (await service.find(id, who))?.state,
    cancel: async (id, who) => (await find(id, who)).cancel(),
  };
});
