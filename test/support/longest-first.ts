import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take minutes, the longest first. One that begins last has all cores but its own wait for it. */
const LONGEST = [
  'test/program/bench.test.ts',
  'test/program/young-database.test.ts',
  'test/program/several-machines.test.ts',
  'test/program/money-kill.test.ts',
  'test/program/start.test.ts',
  'test/program/collection-kill.test.ts',
  'test/journeys/demo.test.ts',
  'test/api/hostile.test.ts',
  'src/features/verification/group-by-facts.test.ts',
  'src/features/reminders/reminders.test.ts',
  'test/journeys/pages-in-browser.test.ts',
]

/** Sorts files as Vitest does, but those that take minutes before all others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((file) => moduleId.endsWith(file))
      return place === -1 ? LONGEST.length : place
    }
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
