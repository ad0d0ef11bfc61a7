package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Runs the programs of tpm2-tools, which speak to the TPM. */
final class TpmTools {

  // A command takes half a second in an emulated machine; a TPM that needs a minute hangs.
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final String tcti;
  private final Commands commands;

  /**
   * @param tcti the way to the TPM, in the notation of tpm2-tools
   */
  TpmTools(String tcti, Commands commands) {
    this.tcti = tcti;
    this.commands = commands;
  }

  List<String> tool(String program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(program, "--quiet", "--tcti", tcti));
    command.addAll(List.of(arguments));
    return command;
  }

  void must(String program, String... arguments) throws FileException {
    must(tool(program, arguments), new byte[0]);
  }

  void must(List<String> command, byte[] input) throws FileException {
    Commands.Result result = run(command, input);
    if (!result.ok()) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "the TPM at %s does not work: %s".formatted(tcti, result.words()),
          "check the firmware's settings of the TPM, and the package tpm2-tools; nothing was changed");
    }
  }

  Commands.Result run(List<String> command, byte[] input) throws FileException {
    try {
      return commands.run(PATIENCE, command, input);
    } catch (IOException e) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "cannot run %s for the TPM: %s".formatted(command.getFirst(), e.getMessage()),
          "install the package tpm2-tools",
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "the TPM was not awaited, because the node stops",
          "start it again",
          e);
    }
  }

  /** Holds the files that the programs pass to each other, in memory; the close removes them. */
  static final class Scratch implements AutoCloseable {
    private final Path folder;

    Scratch() throws FileException {
      try {
        folder = Files.createTempDirectory(VolumeKeyFile.memory(), "polis-tpm");
      } catch (IOException e) {
        throw failed(e);
      }
    }

    String file(String name) {
      return folder.resolve(name).toString();
    }

    byte[] read(String name) throws FileException {
      try {
        return Files.readAllBytes(folder.resolve(name));
      } catch (IOException e) {
        throw failed(e);
      }
    }

    void write(String name, byte[] bytes) throws FileException {
      try {
        Files.write(folder.resolve(name), bytes);
      } catch (IOException e) {
        throw failed(e);
      }
    }

    private static FileException failed(IOException e) {
      return new FileException(
          Problem.IO,
          "the files of the TPM's programs in memory: " + e.getMessage(),
          "check the tmpfs at /run and /dev/shm",
          e);
    }

    @Override
    public void close() throws FileException {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
        Files.delete(folder);
      } catch (IOException e) {
        throw failed(e);
      }
    }
  }
}
