package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EtcdCommandLineTest {

  private static final String NODE = "metropolis-0123456789abcdef0123456789abcdef";

  @Test
  @DisplayName("etcd 3.5 gets every flag")
  void allFlags() {
    assertEquals(
        List.of(
            "/opt/etcd",
            "--name=" + NODE,
            "--data-dir=/s/data/etcd/data",
            "--initial-cluster=" + NODE + "=https://127.0.0.5:7834",
            "--initial-cluster-state=new",
            "--initial-cluster-token=POLIS-x",
            "--listen-client-urls=https://127.0.0.5:7833",
            "--advertise-client-urls=https://127.0.0.5:7833",
            "--listen-peer-urls=https://127.0.0.5:7834",
            "--initial-advertise-peer-urls=https://127.0.0.5:7834",
            "--listen-client-http-urls=unix://metrics.sock",
            "--enable-grpc-gateway=false",
            "--trusted-ca-file=/s/data/etcd/peer_pki/ca.pem",
            "--cert-file=/s/data/etcd/peer_pki/cert.pem",
            "--key-file=/s/data/etcd/peer_pki/key.pem",
            "--client-cert-auth=true",
            "--peer-trusted-ca-file=/s/data/etcd/peer_pki/ca.pem",
            "--peer-cert-file=/s/data/etcd/peer_pki/cert.pem",
            "--peer-key-file=/s/data/etcd/peer_pki/key.pem",
            "--peer-client-cert-auth=true",
            "--peer-cert-allowed-hostname=localhost",
            "--tls-min-version=TLS1.3",
            "--heartbeat-interval=20",
            "--election-timeout=200",
            "--snapshot-count=10000",
            "--quota-backend-bytes=2147483648",
            "--auto-compaction-mode=periodic",
            "--auto-compaction-retention=1h",
            "--logger=zap",
            "--log-level=info",
            "--log-outputs=stderr",
            "--experimental-initial-corrupt-check=true"),
        line(new EtcdVersion(3, 5, 16), "127.0.0.5").arguments());
  }

  @Test
  @DisplayName("older and newer versions get the flags that they know")
  void byVersion() {
    List<String> old = line(new EtcdVersion(3, 5, 0), "127.0.0.5").arguments();
    List<String> young = line(new EtcdVersion(3, 6, 1), "127.0.0.5").arguments();

    assertTrue(old.contains("--listen-metrics-urls=unix://metrics.sock"), old::toString);
    assertFalse(old.contains("--tls-min-version=TLS1.3"), old::toString);
    assertTrue(young.contains("--feature-gates=InitialCorruptCheck=true"), young::toString);
    assertFalse(young.contains("--experimental-initial-corrupt-check=true"), young::toString);
  }

  @Test
  @DisplayName("IPv6 addresses are written in brackets")
  void addresses() {
    EtcdCommandLine line = line(new EtcdVersion(3, 5, 16), "2001:db8::7");

    assertEquals("https://[2001:db8:0:0:0:0:0:7]:7833", line.clientUrl());
    assertEquals("https://[2001:db8:0:0:0:0:0:7]:7834", line.peerUrl());
  }

  @Test
  @DisplayName(
      "a member that is alone has the shortest heartbeat, or the shorter one of the configuration")
  void alone() {
    EtcdVersion version = new EtcdVersion(3, 5, 16);
    List<String> usual = line(version, "127.0.0.5", 100, 1000, true).arguments();
    List<String> shorter = line(version, "127.0.0.5", 10, 60, true).arguments();

    assertTrue(usual.contains("--heartbeat-interval=20"), usual::toString);
    assertTrue(usual.contains("--election-timeout=100"), usual::toString);
    assertTrue(shorter.contains("--heartbeat-interval=10"), shorter::toString);
    assertTrue(shorter.contains("--election-timeout=60"), shorter::toString);
  }

  private static EtcdCommandLine line(EtcdVersion version, String address) {
    return line(version, address, 20, 200, false);
  }

  private static EtcdCommandLine line(
      EtcdVersion version, String address, int heartbeat, int election, boolean alone) {
    return new EtcdCommandLine(
        new EtcdBinary(Path.of("/opt/etcd"), version),
        NODE,
        "POLIS-x",
        InetAddress.ofLiteral(address),
        ConsensusHarness.settings(heartbeat, election, 2L << 30, Duration.ofSeconds(60), ""),
        new EtcdFiles(Root.at(Path.of("/s"))),
        alone,
        List.of());
  }
}
