package dev.polis.consensus;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import dev.polis.process.LastWords;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Quotes the cause of etcd's end, and adds a remedy if it is the disk or its files. */
final class EtcdExitDiagnosis {

  /** A file of etcd's log has 64 MB; etcd copies a torn file before it repairs it. */
  private static final long ROOM_FOR_REPAIR = 64_000_000;

  /** The words of etcd before its end, when another member has removed it. */
  private static final String REMOVED = "data-dir used by this member must be removed";

  /** The bytes at the end of a log that have these words; after them etcd writes tens of lines. */
  private static final int REMOVAL_BYTES = 256 << 10;

  /** The fields that identify the code of a log line. */
  private static final Set<String> ASIDE = Set.of("level", "ts", "caller", "msg", "stacktrace");

  /** The errors about a damaged record of the log or page of the database. */
  private static final Pattern DAMAGED =
      Pattern.compile(
          "crc mismatch|failed to open database.*(invalid database|checksum error|version mismatch|file size too small)"
              + "|[Pp]age expected to be|page \\d+: (invalid type|already freed)");

  /** The error of a member that has confirmed more entries to its leader than its log now has. */
  private static final Pattern OLDER = Pattern.compile("tocommit\\(\\d+\\) is out of range");

  private static final String RESTORE =
      "stop the node and restore %s as a whole from a copy of this disk, or start it with \"--force-new-cluster ID --restore FILE\", where FILE was saved by \"polisctl etcd snapshot\"; without either, make a new cluster in another state directory; dmesg says whether the disk fails";

  private EtcdExitDiagnosis() {}

  /**
   * Returns the line of etcd's log that explains its end, with a remedy if etcd could not write or
   * read its data.
   *
   * @param from the begin of this run's log
   * @param data etcd's data directory
   */
  static String of(Path log, long from, Path data) {
    return of(log, from, data, () -> usable(data), () -> type(data));
  }

  /**
   * Does the same with a given file system.
   *
   * @param room returns the bytes that etcd can still write
   * @param type returns its type, as the kernel names it
   */
  static String of(Path log, long from, Path data, LongSupplier room, Supplier<String> type) {
    String line = of(log, from);
    return line + remedy(line, data, room, type);
  }

  /**
   * Returns whether etcd ended because another member has removed it.
   *
   * @param from the begin of this run's log
   */
  static boolean removed(Path log, long from) {
    try (FileChannel file = FileChannel.open(log)) {
      long begin = Math.max(Math.min(from, file.size()), file.size() - REMOVAL_BYTES);
      ByteBuffer end = ByteBuffer.allocate((int) (file.size() - begin));
      while (end.hasRemaining() && file.read(end, begin + end.position()) >= 0) {}
      return new String(end.array(), StandardCharsets.UTF_8).contains(REMOVED);
    } catch (IOException unreadable) {
      // Without the log the node starts etcd again, which then says it again.
      return false;
    }
  }

  private static long usable(Path data) {
    try {
      return Files.getFileStore(data).getUsableSpace();
    } catch (IOException unknown) {
      // A wrong remedy is worse than none.
      return Long.MAX_VALUE;
    }
  }

  private static String type(Path data) {
    try {
      return Files.getFileStore(data).type();
    } catch (IOException unknown) {
      return "";
    }
  }

  private static String remedy(String line, Path data, LongSupplier room, Supplier<String> type) {
    // When a full disk prevents a repair, etcd reports the reason of the repair and not that of its
    // failure.
    boolean noRepair = line.contains("failed to repair WAL") && room.getAsLong() < ROOM_FOR_REPAIR;
    // Go's texts of the system's errors, which are the same in every locale.
    if (noRepair
        || line.contains("no space left on device")
        || line.contains("disk quota exceeded")) {
      return "; the file system of %s is full: free some space (etcd reserves 128 MiB for its log before it serves; df -i shows whether the number of files is used up); a running node then continues by itself"
          .formatted(data);
    }
    if (line.contains("read-only file system")) {
      return "; the file system of %s is mounted read-only: mount it writable; a running node then continues by itself"
          .formatted(data);
    }
    if (line.contains("file too large")) {
      return "; a limit of file sizes stops etcd: start the node without it (ulimit -f unlimited, or LimitFSIZE=infinity of a systemd unit), on a file system that takes files of some GiB";
    }
    if (line.contains("input/output error") && type.get().startsWith("fuse.gocryptfs")) {
      return "; a block of that file does not authenticate in the AUTHENTICATED_ENCRYPTED volume, as its encrypted form was altered on the disk, or the disk cannot read it (then dmesg says so): check the disk, and "
          + restore(data);
    }
    if (OLDER.matcher(line).find()) {
      return "; these data are older than what this member has confirmed to the others, as after the restore of a copy or a lost write: move %s away and restart the node, which then joins the other members anew and gets the data from them"
          .formatted(data.getParent());
    }
    if (DAMAGED.matcher(line).find()) {
      return "; a file of etcd is damaged and etcd cannot repair it; nothing was changed: "
          + restore(data);
    }
    return "";
  }

  private static String restore(Path data) {
    return RESTORE.formatted(data.getParent());
  }

  /**
   * Returns a text with a remedy if etcd has ever cut off its log. A cut after the last complete
   * record does no harm. But etcd also cuts at earlier damage, and then waits for ever for records
   * that its database already has.
   */
  static String cutOff(Path data) {
    try (DirectoryStream<Path> whole =
        Files.newDirectoryStream(data.resolve("member/wal"), "*.broken")) {
      List<Path> files = new ArrayList<>();
      whole.forEach(files::add);
      return files.isEmpty()
          ? ""
          : "; etcd has cut off its log at a damaged record, and has kept the whole log in %s: if the next start fails too, %s"
              .formatted(Collections.max(files), restore(data));
    } catch (IOException unknown) {
      // A wrong remedy is worse than none.
      return "";
    }
  }

  private static String of(Path log, long from) {
    try {
      return LastWords.find(log, from)
          .map(EtcdExitDiagnosis::plain)
          .map(LastWords::shown)
          .orElse("none");
    } catch (IOException unreadable) {
      return "its log " + log + " cannot be read: " + unreadable.getMessage();
    }
  }

  /** Returns the message and fields of a JSON line, and any other line unchanged. */
  private static String plain(String line) {
    try {
      JsonObject json = JsonParser.parseString(line).getAsJsonObject();
      StringBuilder text = new StringBuilder(json.has("msg") ? text(json.get("msg")) : line);
      json.asMap().entrySet().stream()
          .filter(field -> !ASIDE.contains(field.getKey()))
          .forEach(
              field ->
                  text.append(", ")
                      .append(field.getKey())
                      .append(' ')
                      .append(text(field.getValue())));
      return text.toString();
    } catch (JsonParseException | IllegalStateException otherFormat) {
      return line;
    }
  }

  private static String text(JsonElement value) {
    return value.isJsonPrimitive() ? value.getAsString() : value.toString();
  }
}
