package dev.polis.network;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.wire.storage.DhcpLeases;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Keeps the leases of all interfaces on the disk. It stores times of the wall clock; the clients
 * count on a clock that is never set. Thread-safe.
 */
final class DhcpLeaseFile {

  private final FilePlacement file;

  DhcpLeaseFile(FilePlacement file) {
    this.file = file;
  }

  /**
   * Returns the stored lease of an interface. A file that cannot be read counts as empty: the next
   * lease replaces it.
   *
   * @param now the time of the client's clock
   */
  synchronized Optional<DhcpLease> find(String link, Instant now) {
    return leases().getLeaseList().stream()
        .filter(lease -> lease.getInterface().equals(link))
        .findFirst()
        .flatMap(lease -> read(lease, now));
  }

  /** Returns the time servers of the stored leases, by interface. */
  synchronized Map<String, List<String>> timeServers() {
    Map<String, List<String>> servers = new TreeMap<>();
    for (DhcpLeases.Lease stored : leases().getLeaseList()) {
      read(stored, Instant.now())
          .ifPresent(lease -> servers.put(stored.getInterface(), lease.offeredTime()));
    }
    return servers;
  }

  private static Optional<DhcpLease> read(DhcpLeases.Lease stored, Instant now) {
    try {
      DhcpMessage message = DhcpMessage.answer(stored.getAcknowledgement().toByteArray());
      Duration age = Duration.between(instant(stored.getObtainedAt()), Instant.now());
      DhcpLease lease = DhcpLease.of(message, now.minus(age));
      // A clock that went back says nothing about the age; the server decides about the address.
      return Optional.of(age.isNegative() ? DhcpLease.of(message, now.minus(lease.time())) : lease);
    } catch (IllegalArgumentException | DateTimeException | ArithmeticException damaged) {
      return Optional.empty();
    }
  }

  private static Instant instant(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  /**
   * Stores the lease of an interface, or removes it.
   *
   * @param now the time of the client's clock
   */
  synchronized void store(String link, Optional<DhcpLease> lease, Instant now)
      throws FileException {
    DhcpLeases former = leases();
    DhcpLeases.Builder leases = DhcpLeases.newBuilder();
    former.getLeaseList().stream()
        .filter(other -> !other.getInterface().equals(link))
        .forEach(leases::addLease);
    lease.ifPresent(
        held -> {
          Instant obtained = Instant.now().minus(Duration.between(held.obtained(), now));
          leases
              .addLeaseBuilder()
              .setInterface(link)
              .setAcknowledgement(ByteString.copyFrom(held.message().encoded()))
              .getObtainedAtBuilder()
              .setSeconds(obtained.getEpochSecond())
              .setNanos(obtained.getNano());
        });
    if (!leases.build().equals(former)) {
      file.write(leases.build());
    }
  }

  private DhcpLeases leases() {
    return file.read(DhcpLeases.parser()) instanceof Stored.Present<DhcpLeases>(var _, var leases)
        ? leases
        : DhcpLeases.getDefaultInstance();
  }
}
