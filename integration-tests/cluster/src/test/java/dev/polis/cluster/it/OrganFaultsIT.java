package dev.polis.cluster.it;

import dev.polis.cluster.it.OrganFaults.Fault;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Swaps each organ of a real node under writers while its predecessor ends badly, with another
 * configuration, or while another organ is stopped. The short form tests one organ of each kind;
 * the long form, {@code polis test --long}, each organ five times, or {@code -Dpolis.times=20}
 * times; {@code -Dpolis.organs=curator,roles} chooses organs. A predecessor that ends the process
 * has a long form of its own, {@link OrganExitsIT}, which runs beside this one.
 */
@Tag("full")
@Tag("longer")
class OrganFaultsIT {

  /** The organs of the short form, one for each fault in order; it makes every second fault. */
  private static final List<String> SHORT =
      List.of(
          "dev.polis.cluster",
          "dev.polis.consensus",
          "dev.polis.containers",
          "dev.polis.convergence",
          "dev.polis.curator",
          "dev.polis.storage");

  @TempDir static Path directory;
  private static OrganFaults faults;

  @BeforeAll
  static void start() throws Exception {
    faults = OrganFaults.of(directory, "127.0.36.1");
  }

  @AfterAll
  static void stop() {
    if (faults != null) {
      faults.close();
    }
  }

  static Stream<Arguments> swaps() throws IOException {
    List<Fault> all = List.of(Fault.values());
    return Tier.isLong()
        ? OrganFaults.organs().stream()
            .flatMap(
                organ ->
                    all.stream()
                        .filter(each -> each != Fault.EXITS && OrganFaults.has(organ, each))
                        .map(each -> Arguments.of(organ, each)))
        : Slice.of(all, 2).stream().map(each -> Arguments.of(SHORT.get(each.ordinal()), each));
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("swaps")
  @DisplayName(
      "a swap succeeds while the predecessor hangs, throws, leaks or ends the process, with another"
          + " configuration, and while another organ is stopped: no acknowledged write is lost, nothing is left")
  void succeeds(String organ, Fault fault) throws Exception {
    faults.swap(organ, fault);
  }
}
