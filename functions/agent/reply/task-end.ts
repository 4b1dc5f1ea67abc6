/** How the run of a task ended. */
export interface TaskEnd {
  /** What the model answered last; absent when the run failed or was stopped. */
  answer?: string;
  /** Why the run failed or was stopped; absent when it was answered. */
  failure?: string;
  /** Why the answer could not be delivered to its channel. */
  undelivered?: string | undefined;
  /** What a channel is told of the failure; absent when the run was stopped. */
  note?: string;
}
