// Modules that the functions load on first use, loaded in advance: virtual time does not wait for the disk.
import "../../functions/agent/compaction/extract-memories.ts";
import "../../functions/agent/compaction/known-memories.ts";
import "../../functions/agent/compaction/summarize.ts";
import "../../functions/agent/self/agent-stats.ts";
import "../../functions/agent/self/answer-memory.ts";
import "../../functions/agent/self/answer-recall.ts";
import "../../functions/agent/self/read-logs.ts";
import "../../functions/agent/self/remind.ts";
import "../../functions/agent/self/self-report.ts";
import "../../functions/agent/tools/change-jobs.ts";
import "../../shared/dreaming/dream-sweep.ts";
import "../../shared/git/patch.ts";
import "../../shared/git/workspace-commit.ts";
import "../../shared/git/workspace-history.ts";
import "../../shared/memory/memories.ts";
import "../../shared/recall/recall.ts";
import "../../shared/skills/frontmatter.ts";
