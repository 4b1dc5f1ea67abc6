/**
 * The mutated folders, and the tests for each mutant: first those of the folder itself, then fast tests of its users
 * that run in one process. A mutant that only a slower test detects counts as a survivor.
 */
export const testsOf: Record<string, readonly string[]> = {
  "shared/session": [
    "test/session/!(large-archive)",
    "test/timer/*",
    "test/media/recorded-images",
    "test/agent/compaction/memories",
    "test/agent/context/provenance",
    "test/agent/tools/session-tools",
    "test/cli/commands/session/{session,history}-commands",
    "test/agent/{failed-run,cut-answer,reset-by-policy,reset}",
    "test/socket/{command-results,background-commands,transcript-page}",
    "test/webhook/{redelivery,handler}",
  ],
  "shared/cron": [
    "test/cron/{schedule-words,run-times,run-slots,job-changes,jobs,job-runs,job-costs,cron-tool,former-owner}",
    "test/cli/commands/cron/cron-commands",
    "test/cron/{job-epoch,killed-run}",
  ],
  "shared/transfer": ["test/transfer/{transfer-steps,transfer-parts}", "test/transfer/*"],
  "shared/recall": [
    "test/recall/**",
    "test/agent/tools/session-logs",
    "test/cli/commands/session/search-command",
  ],
  "shared/memory": ["test/memory/**", "test/agent/compaction/memories", "test/agent/tools/memory-tool"],
  "shared/git": [
    "test/git/**",
    "test/cli/commands/{workspace/workspace-history-commands,agent/memory-commands}",
    "test/agent/tools/history-tools",
    "test/memory/**",
  ],
  "shared/peers": [
    "test/peers/**",
    "test/socket/{gsv-peers,node-calls,node-place,nested-params,connection-ended}",
    "test/agent/reply/unread-events",
    "test/security/door/{id-takeover,cost-by-strangers}",
    "test/skills/probes-of-nodes",
  ],
  "functions/agent": [
    "test/agent/*/{prompt,history,provenance,daily-notes,prompt-cache,session-context,wire-messages}",
    "test/agent/*/{compaction-cut,compaction-request,compaction-prompts,memories,message-tool,tool-steps}",
    "test/agent/*/{call-ids,image-blocks,shown-results,deadline,alternate-turns,failure-sentences,media-cache}",
    "test/agent/*/{transcription,refused-images,bedrock-limits,context-tools,context-fit,unread-events}",
    "test/agent/*/{shorten,extraction-job,self-tools,session-tools,send-limit,reminders,known-memories}",
    "test/agent/{web/*,tools/{ask-owner,approval-ends,approval-states,agent-rights,decision-log,recall-tool}}",
    "test/agent/{budgets,payer,interrupted-steps}",
    "test/agent/{reset,reset-by-policy,failed-run,cut-answer,attachments,fetch-attachment,typing}",
    "test/agent/newest-configuration",
    // The rest, but for tests that start programs or interrupt each call.
    "test/agent/**/!(approval-kills|unused|hostile-pages|long-conversation|reset-killed|reset-upload-killed)",
    "test/{mcp,skills}/*",
    "test/{approvals/*,cron/cron-tool,security/inside/queued-rights}",
  ],
};
