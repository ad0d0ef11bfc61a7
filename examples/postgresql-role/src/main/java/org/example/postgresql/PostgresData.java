package org.example.postgresql;

import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import dev.polis.process.ProcessException;
import dev.polis.process.RunAs;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** Keeps the role's folder on the data volume, and makes what is missing in it. */
final class PostgresData {

  /** Public, since the account of the server passes through it to its own folder below. */
  static final OrganFolder FOLDER = new OrganFolder("postgresql", Mode.PUBLIC_DIRECTORY);

  /** Name of the database's owner. */
  static final String USER = "postgres";

  /** Clients of the networks this node is part of, each with a password. */
  static final String ACCESS = "host all all samenet scram-sha-256\n";

  /** initdb writes some 40 MB and forces them to disk; this is for a slow one. */
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  /** As many bytes as a key of AES-256 has. */
  private static final int PASSWORD_BYTES = 32;

  private final FolderPlacement folder;
  private final FilePlacement password;
  private final FilePlacement access;

  PostgresData(FolderPlacement folder) {
    this.folder = folder;
    this.password = folder.declareFile("password", Mode.SECRET);
    this.access = folder.declareFile("pg_hba.conf", Mode.PUBLIC);
  }

  /** Returns where the server's data are. */
  Path data() {
    return folder.path().resolve("data");
  }

  /** Returns the file that says which clients are let in. */
  Path access() {
    return access.path();
  }

  /** Makes what is missing. A run that is cut short leaves nothing that the next one trips over. */
  void prepare(PostgresPrograms programs, PostgresAccount account, Log log)
      throws IOException, InterruptedException {
    account.requireReachable(folder.path());
    access.write(ACCESS.getBytes(StandardCharsets.UTF_8));
    if (!Files.isDirectory(data())) {
      log.info("there are no data yet: making them at %s", data());
      create(programs, account);
    }
  }

  private void create(PostgresPrograms programs, PostgresAccount account)
      throws IOException, InterruptedException {
    // Under another name until it is whole.
    Path made = folder.path().resolve("data.new");
    Path secret = folder.path().resolve("password.new");
    remove(made);
    Files.createDirectory(made);
    Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rwx------"));
    account.own(made);
    try {
      Files.writeString(secret, "");
      Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
      Files.writeString(secret, password());
      account.own(secret);
      runInitdb(programs, account, made, secret);
    } finally {
      Files.deleteIfExists(secret);
    }
    Files.move(made, data(), StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel channel = FileChannel.open(folder.path(), StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  private static void runInitdb(
      PostgresPrograms programs, PostgresAccount account, Path made, Path secret)
      throws IOException, InterruptedException {
    List<String> initdb =
        List.of(
            programs.initdb().toString(),
            "--pgdata=" + made,
            "--username=" + USER,
            "--pwfile=" + secret,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8");
    Commands.Result result = new Commands().run(PATIENCE, RunAs.command(account.name(), initdb));
    if (!result.ok()) {
      throw new ProcessException("cannot make PostgreSQL's data: " + result.words());
    }
  }

  /**
   * Returns the password of the database's owner; made by the first call.
   *
   * @throws IOException if there is one that cannot be read: a new one would not fit the data
   */
  String password() throws IOException {
    return switch (password.read()) {
      case Stored.Present<byte[]>(Path _, byte[] content) ->
          new String(content, StandardCharsets.UTF_8);
      case Stored.None<byte[]>(Path _) -> newPassword();
      case Stored.Corrupted<byte[]>(Path path, String reason) ->
          throw new IOException("cannot read the password in " + path + ": " + reason);
      case Stored.Unreadable<byte[]>(Path path, String reason, FileException cause) ->
          throw new IOException("cannot read the password in " + path + ": " + reason, cause);
    };
  }

  private String newPassword() throws FileException {
    byte[] random = new byte[PASSWORD_BYTES];
    new SecureRandom().nextBytes(random);
    String made = HexFormat.of().formatHex(random);
    password.write(made.getBytes(StandardCharsets.UTF_8));
    return made;
  }

  private static void remove(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }
}
