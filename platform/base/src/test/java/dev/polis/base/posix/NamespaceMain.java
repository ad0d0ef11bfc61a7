package dev.polis.base.posix;

import java.nio.file.Path;
import java.util.List;

/** Performs one action that needs namespaces of its own, and prints the result. */
public final class NamespaceMain {

  private NamespaceMain() {}

  /**
   * @param arguments the action, and its target
   */
  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "hostname" -> {
        Machine.hostName(arguments[1]);
        System.out.println(Machine.hostName());
      }
      case "mount" -> mount(Path.of(arguments[1]));
      case "reboot" -> Machine.reboot(Machine.Reboot.valueOf(arguments[1]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void mount(Path point) throws Exception {
    Mounts.mount("any", point, "tmpfs", List.of("noexec", "size=1m"));
    System.out.println(Mounts.at(point).orElseThrow());
    try (var open = java.nio.file.Files.newOutputStream(point.resolve("open"))) {
      open.write(1);
      try {
        Mounts.unmount(point);
      } catch (PosixException e) {
        System.out.println(e.errno());
      }
    }
    Mounts.unmount(point);
    System.out.println(Mounts.at(point).isPresent());
  }
}
