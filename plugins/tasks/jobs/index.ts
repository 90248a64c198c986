export { Job, type JobEnd, type JobOptions } from "./job.ts";
export { JobMemory, type CountedJob } from "./job-memory.ts";
export { JobQuestions, type JobQuestion } from "./job-questions.ts";
export {
  JobRecords,
  type JobRecord,
  type JobRecordsOptions,
  type JobRef,
  type SaveOptions,
} from "./job-records.ts";
export { LostReplicas } from "./lost-replicas.ts";
export { JOB_STATES, type FinalJobState, type JobState } from "./states.ts";
