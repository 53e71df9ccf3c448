package main

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"gristmill"
)

type config struct {
	// KeepParameters are those of a query that are kept; all others may hold what is nobody's business.
	KeepParameters []string `json:"keep_parameters"`
	// MaskClients makes networks of addresses: the first 24 bits of IPv4, the first 48 of IPv6.
	MaskClients bool `json:"mask_clients"`
}

type webLog struct {
	config config
	log    gristmill.In[gristmill.TextColumn]

	records  *gristmill.Output
	at       gristmill.Out[*gristmill.Builder[int64]]
	client   gristmill.Out[*gristmill.TextBuilder]
	method   gristmill.Out[*gristmill.TextBuilder]
	path     gristmill.Out[*gristmill.TextBuilder]
	query    gristmill.Out[*gristmill.TextBuilder]
	status   gristmill.Out[*gristmill.Builder[int16]]
	bytes    gristmill.Out[*gristmill.Builder[int64]]
	referrer gristmill.Out[*gristmill.TextBuilder]
	agent    gristmill.Out[*gristmill.TextBuilder]
}

func plan(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
	if err := setup.RequireStage(gristmill.StageNormalize); err != nil {
		return nil, err
	}
	t := &webLog{}
	if err := setup.Config(&t.config); err != nil {
		return nil, err
	}
	t.log = p.Read("log", gristmill.Utf8)

	t.records = p.Output("records")
	t.records.Forward("host", "offset")
	t.records.ForwardLookup("service", p.Lookup("hosts", "host", "service"))
	t.at = t.records.ComputeRequired("at", gristmill.Timestamp(gristmill.Microsecond, "UTC"))
	t.client = t.records.ComputeRequired("client", gristmill.Utf8)
	t.method = t.records.ComputeRequired("method", gristmill.Utf8)
	t.path = t.records.ComputeRequired("path", gristmill.Utf8)
	t.query = t.records.Compute("query", gristmill.Utf8)
	t.status = t.records.ComputeRequired("status", gristmill.Int16)
	t.bytes = t.records.Compute("bytes", gristmill.Int64)
	t.referrer = t.records.Compute("referrer", gristmill.Utf8)
	t.agent = t.records.ComputeRequired("agent", gristmill.Utf8)
	return t, nil
}

func (t *webLog) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	logs, selection := batch.Column(t.log), out.Select(t.records)
	at, client, method := out.Column(t.at), out.Column(t.client), out.Column(t.method)
	path, query, status := out.Column(t.path), out.Column(t.query), out.Column(t.status)
	bytes, referrer, agent := out.Column(t.bytes), out.Column(t.referrer), out.Column(t.agent)
	for row := range batch.Rows() {
		text, _ := logs.Get(row)
		line, problem := parseLine(text)
		if problem != nil {
			out.Reject(row, gristmill.Reject{Code: problem.code, Field: "log", Message: problem.message})
			continue
		}
		selection.Append(row)
		at.Append(line.at.UnixMicro())
		client.Append(t.clientOf(line.client))
		method.Append(line.method)
		before, after, _ := strings.Cut(line.target, "?")
		path.Append(before)
		query.AppendOption(t.keptOf(after))
		status.Append(line.status)
		bytes.AppendOption(line.bytes, line.hasBytes)
		referrer.AppendOption(siteOf(line.referrer))
		agent.Append(familyOf(line.agent))
	}
	return nil
}

// clientOf is the address, or its network. What is no address, such as a host's name, is masked whole.
func (t *webLog) clientOf(client string) string {
	if !t.config.MaskClients {
		return client
	}
	address, err := netip.ParseAddr(client)
	if err != nil {
		return "masked"
	}
	bits := 48
	if address.Unmap().Is4() {
		address, bits = address.Unmap(), 24
	}
	network, err := address.WithZone("").Prefix(bits)
	if err != nil {
		return "masked"
	}
	return network.String()
}

// keptOf is the parameters of a query that are kept, in their order and as they were written.
func (t *webLog) keptOf(query string) (string, bool) {
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if slices.Contains(t.config.KeepParameters, name) {
			kept = append(kept, parameter)
		}
	}
	return strings.Join(kept, "&"), len(kept) > 0
}

// siteOf is the host that a referrer names: the rest of it is another site's business.
func siteOf(referrer string) (string, bool) {
	parsed, err := url.Parse(referrer)
	if err != nil || parsed.Hostname() == "" {
		return "", false
	}
	return strings.ToLower(parsed.Hostname()), true
}
