import type { RunTool } from "propylon/plugins/agents";
import type { Work } from "../tasks/work.ts";

/** The tool with which an agent asks for more: its run ends, and the answer is the next message of the task. */
export function askUser(work: Work): RunTool {
  return {
    name: "ask_user",
    description:
      "Asks the person or agent behind this task a question, when you cannot go on without the answer. Your turn ends; the answer is the next message.",
    inputSchema: {
      type: "object",
      properties: { question: { type: "string", description: "What you need to know." } },
      required: ["question"],
    },
    run({ question }) {
      if (typeof question !== "string" || question === "")
        return 'Error: send { "question": "..." }.';
      work.ask([{ text: question }]);
      return "The question was asked. The answer is the next message.";
    },
  };
}
