/** The scripted model of the campaign: does what the prompt orders, and ends with `final_answer` where a framework wants that. */
import { startModel } from "../../fixtures/model/model.mjs";
import { followOrders } from "../../fixtures/model/orders.mjs";

const FINAL = "final_answer";

/** Frameworks put a prefix of their own before the names of tools. */
function offered(call, tools) {
  const name = tools.find((tool) => tool.name.split(/[._]/).at(-1) === call.name)?.name;
  return { ...call, name: name ?? call.name };
}

function obey(request) {
  const reply = followOrders(request);
  if (reply.calls?.length)
    return { ...reply, calls: reply.calls.map((call) => offered(call, request.tools)) };
  // smolagents ends a run with a call of this tool only.
  const ends = request.tools.some(({ name }) => name === FINAL);
  return ends ? { calls: [{ name: FINAL, args: { answer: reply.text ?? "" } }] } : reply;
}

export const startScriptedModel = () => startModel({ script: obey });
