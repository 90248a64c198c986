export { agentCardSchema, CARD_PATH, skillSchema, type AgentCard, type Skill } from "./card.ts";
export { applyEvent, TaskFold } from "./fold.ts";
export {
  CONTRACT_VERSIONS,
  contractVersionSchema,
  MANIFEST_FILE,
  manifestSchema,
  type Manifest,
} from "./manifest.ts";
export {
  CONTINUES_HEADER,
  MAX_DEPTH,
  messageSchema,
  partSchema,
  sendMessageRequestSchema,
  textOf,
  type Message,
  type Part,
  type SendMessageRequest,
} from "./message.ts";
export { messageToStandard, stateFromStandard } from "./standard.ts";
export { STATES, TASK_STATES, type StateFacts, type TaskState } from "./states.ts";
export {
  artifactSchema,
  streamEventSchema,
  taskArtifactUpdateSchema,
  taskSchema,
  taskStatusSchema,
  taskStatusUpdateSchema,
  type Artifact,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdate,
  type TaskStatus,
  type TaskStatusUpdate,
} from "./task.ts";
