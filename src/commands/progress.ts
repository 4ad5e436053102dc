import { remark } from './output.ts'

/** How far a long command is, on stderr: a bar on a terminal, now and then a line in a pipe or a log. */
export interface Progress {
  update(done: number, total: number, note: string): void
  end(): void
}

const LINE_EVERY_MS = 5_000

export async function showProgress(label: string): Promise<Progress> {
  return process.stderr.isTTY ? bar(label) : lines(label)
}

async function bar(label: string): Promise<Progress> {
  // Loaded here, because in a pipe nobody sees it.
  const { default: cliProgress } = await import('cli-progress')
  const shown = new cliProgress.SingleBar({
    format: `${label} {bar} {percentage}% {value} of {total}, {duration_formatted}, {note}`,
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    barsize: 30,
    etaBuffer: 100,
  })
  let isStarted = false
  return {
    update: (done, total, note) => {
      // What is due can grow while it is billed.
      const bound = Math.max(done, total)
      if (!isStarted) shown.start(bound, done, { note })
      isStarted = true
      shown.setTotal(bound)
      shown.update(done, { note })
    },
    end: () => shown.stop(),
  }
}

function lines(label: string): Progress {
  let lastMs = performance.now()
  return {
    update: (done, total, note) => {
      const nowMs = performance.now()
      if (nowMs - lastMs < LINE_EVERY_MS) return
      lastMs = nowMs
      remark(`${label}: ${done} of ${Math.max(done, total)}, ${note}`)
    },
    end: () => {},
  }
}
