package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MachineTest {

  @Test
  void thisProcessIsNotTheFirstOne() {
    assertFalse(Machine.isFirstProcess());
  }

  @Test
  @DisplayName("SEED-16 a host name set in a namespace is visible only there")
  void seed16_hostnameInNamespace() throws Exception {
    Namespaces.assumeRoot();
    String before = Machine.hostName();

    assertEquals(
        new Namespaces.Ended(0, List.of("metropolis-test")),
        Namespaces.run(List.of("--uts"), "hostname", "metropolis-test"));

    assertEquals(before, Machine.hostName());
  }

  @Test
  void aHostNameBeyond64BytesIsRefusedAndNothingChanges() throws Exception {
    String before = Machine.hostName();
    PosixException refused =
        assertThrows(PosixException.class, () -> Machine.hostName("x".repeat(65)));
    // The kernel refuses an ordinary user before it checks the name.
    assertEquals(Machine.effectiveUser() == 0 ? Errno.EINVAL : Errno.EPERM, refused.errno());
    assertEquals(before, Machine.hostName());
  }

  /** In a PID namespace the kernel ends the first process, with a signal for each action. */
  @ParameterizedTest(name = "{0} ends process 1 by signal {1}")
  @CsvSource({"POWER_OFF, 2", "RESTART, 1"})
  void rebootEndsTheMachineOfProcess1(String action, int signal) throws Exception {
    Namespaces.assumeRoot();
    assertEquals(
        128 + signal,
        Namespaces.run(List.of("--pid", "--fork"), "reboot", action).exit(),
        "unshare ends as its child did");
  }

  @Test
  void anOrdinaryUserMayNotReboot() throws Exception {
    assumeTrue(Machine.effectiveUser() != 0, "root may, and would");
    PosixException refused =
        assertThrows(PosixException.class, () -> Machine.reboot(Machine.Reboot.RESTART));
    assertEquals(Errno.EPERM, refused.errno());
  }
}
