package dev.polis.process;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads from the kernel's log whether the kernel itself killed a process. */
final class KernelLog {

  /** The time for {@code dmesg}, which prints some hundred KiB. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /** The kernel's line with the place where memory ran out, before the line about the process. */
  private static final String PLACE = "oom-kill:.*?(?:oom_memcg=([^,\\s]+).*?)?,pid=%d,";

  private static final String KILLED = "[Oo]ut of memory: Killed process %d ";

  private KernelLog() {}

  /** Returns the reason as a clause for people. */
  static String killer(long pid) throws InterruptedException {
    try {
      Commands.Result log = new Commands().run(ANSWER, List.of("dmesg"));
      return log.ok() ? killer(log.output(), pid) : unreadable(log.words());
    } catch (IOException e) {
      return unreadable(e.getMessage());
    }
  }

  private static String unreadable(String why) {
    return "whether the kernel ended it, out of memory, is not known: " + why;
  }

  static String killer(String log, long pid) {
    Matcher place = Pattern.compile(PLACE.formatted(pid)).matcher(log);
    if (place.find() && place.group(1) != null) {
      return "the kernel ended it: the cgroup %s is out of memory; raise its memory limit, or end what takes the memory there"
          .formatted(place.group(1));
    }
    return Pattern.compile(KILLED.formatted(pid)).matcher(log).find()
        ? "the kernel ended it: this machine is out of memory"
        : "a person or another program sent it, since the kernel was not out of memory";
  }
}
